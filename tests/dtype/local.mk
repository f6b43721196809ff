# tests of dtype
