dist_check_SCRIPTS += %D%/run.sh %D%/step.sh
TESTS += %D%/run.sh %D%/step.sh
EXTRA_DIST += tests/npm.sh %D%/npm/package.json %D%/lib.mjs %D%/page.mjs %D%/step.mjs %D%/coefficients.mjs %D%/boxes.json
.PHONY: clean-html
clean-html:
	rm -rf npm-clients-html npm-clients-html.none
clean-local: clean-html
