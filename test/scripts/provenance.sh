#!/usr/bin/env bash
# provenance.sh VERSION DIST: prints how the release in DIST was built, as a predicate of SLSA provenance 1.0: the
# commit, the builder, and the run of CI. Outside of GitHub Actions and GitLab CI the builder is this machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 dist=$2
if [ -n "${GITHUB_ACTIONS:-}" ]; then
  commit=$GITHUB_SHA source=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY ref=$GITHUB_REF
  builder=$GITHUB_SERVER_URL/$GITHUB_WORKFLOW_REF run=$source/actions/runs/$GITHUB_RUN_ID/attempts/$GITHUB_RUN_ATTEMPT
elif [ -n "${GITLAB_CI:-}" ]; then
  commit=$CI_COMMIT_SHA source=$CI_PROJECT_URL ref=refs/tags/$CI_COMMIT_TAG
  builder=$CI_SERVER_URL/$CI_PROJECT_PATH//.gitlab-ci.yml@$ref run=$CI_PIPELINE_URL
else
  commit=$(git rev-parse HEAD) source=file://$PWD ref=$(git symbolic-ref --quiet HEAD || echo HEAD)
  builder=https://vnfbench.io/builder/local run=local-$commit
fi
jq -n --arg version "$version" --arg commit "$commit" --arg source "$source" --arg ref "$ref" --arg builder "$builder" --arg run "$run" \
  --arg sums "$(sha256sum <"$dist/SHA256SUMS" | cut -d' ' -f1)" --arg go "$(go env GOVERSION)" '{
  buildDefinition: {
    buildType: "https://vnfbench.io/build/make-release/v1",
    externalParameters: {source: $source, ref: $ref, command: "make release VERSION=\($version)"},
    internalParameters: {go: $go},
    resolvedDependencies: [{uri: "git+\($source)@\($ref)", digest: {gitCommit: $commit}}]
  },
  runDetails: {
    builder: {id: $builder},
    metadata: {invocationId: $run},
    byproducts: [{name: "SHA256SUMS", digest: {sha256: $sums}}]
  }
}'
