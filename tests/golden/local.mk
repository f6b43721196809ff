# outputs of every command on fixed inputs
dist_check_SCRIPTS += %D%/golden.sh
TESTS += %D%/golden.sh
EXTRA_DIST += %D%/cases.txt %D%/out
