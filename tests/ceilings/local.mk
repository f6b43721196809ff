# tests of ceilings
