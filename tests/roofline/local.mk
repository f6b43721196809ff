# tests of roofline
