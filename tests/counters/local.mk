# tests of counters
