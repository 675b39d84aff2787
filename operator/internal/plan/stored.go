package plan

import "vnfbench.io/operator/internal/measure"

// Sum returns the digest of what a plan's ConfigMap holds. The run's status keeps it, because who may
// write ConfigMaps in the run's namespace may not write the status.
func Sum(data map[string]string) string { return measure.Sum(data) }
