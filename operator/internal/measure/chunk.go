package measure

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

const (
	// ChunkBytes is what keys and values of records take at least that fill a chunk.
	ChunkBytes = 64 << 10
	// MaximumChunks is how many of them the results have at most.
	MaximumChunks = MaximumResultsBytes / ChunkBytes
)

// Chunk is a part of a run's records that is closed: a separate immutable ConfigMap, with the keys that
// the records had in the results' ConfigMap.
type Chunk struct {
	// Trials is the number of its records, Bytes what their keys and values take.
	Trials int `json:"trials"`
	Bytes  int `json:"bytes"`
	// Digest is the Sum of its data.
	Digest string `json:"digest"`
}

// ChunkName returns the name of one of the ConfigMaps with the closed chunks of the results, counted from 0.
func ChunkName(results string, index int) string { return fmt.Sprintf("%s-%d", results, index) }

// Sum returns the SHA-256 of a ConfigMap's data: keys and values in the order of the keys, each with its
// length.
func Sum(data map[string]string) string {
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(hash, "%d %s %d %s", len(key), key, len(data[key]), data[key])
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// Bytes returns what keys and values of a ConfigMap's data take.
func Bytes(data map[string]string) int {
	total := 0
	for key, value := range data {
		total += len(key) + len(value)
	}
	return total
}
