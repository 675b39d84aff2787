package v1alpha1

// IsQuantityPattern reports whether the schema's pattern is one that Go takes too.
func IsQuantityPattern(pattern string) bool {
	return pattern == cpuPattern.String() || pattern == bytePattern.String()
}
