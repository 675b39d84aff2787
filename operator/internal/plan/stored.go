package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Sum returns the SHA-256 of what a plan's ConfigMap holds: keys and values in the order of the
// keys, each with its length. The run's status keeps it, because who may write ConfigMaps in the
// run's namespace may not write the status.
func Sum(data map[string]string) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(hash, "%d %s %d %s", len(key), key, len(data[key]), data[key])
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}
