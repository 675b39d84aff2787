package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vnfbench.io/operator/internal/measure"
)

// Records reads the trials from the data of a run's results ConfigMap, in
// their order. It ignores other keys.
func Records(data map[string]string) ([]measure.Record, error) {
	var records []measure.Record
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if !strings.HasPrefix(key, measure.KeyTrialPrefix) {
			continue
		}
		var record measure.Record
		if err := json.Unmarshal([]byte(data[key]), &record); err != nil {
			return nil, fmt.Errorf("reading trial %q: %w", key, err)
		}
		records = append(records, record)
	}
	slices.SortStableFunc(records, func(a, b measure.Record) int { return a.Index - b.Index })
	return records, nil
}
