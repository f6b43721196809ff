# tests of hwprofile
