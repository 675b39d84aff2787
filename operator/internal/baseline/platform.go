package baseline

import (
	"fmt"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/platform"
)

// PlatformWarning returns a warning that names what differs in what both runs were measured on and with. What is not known of one is not
// compared. With generatorNamed another warning names the generator's image.
func PlatformWarning(report v1alpha1.BaselineReport, now []v1alpha1.PlatformPart, generatorNamed bool) []v1alpha1.Warning {
	var except []string
	if generatorNamed {
		except = []string{platform.GeneratorImage, platform.Measurer}
	}
	differ := platform.Differences(report.Platform, now, except...)
	if len(differ) == 0 {
		return nil
	}
	return []v1alpha1.Warning{{Code: v1alpha1.WarningBaselinePlatformDiffers, Message: inBounds(
		"The baseline is of another platform, so a figure may differ though the device does not: measure it again on this one. ", differ)}}
}

// inBounds returns a message with all differences, or with the names of all and as many values as its bound allows.
func inBounds(message string, differ []string) string {
	const values = "Before and now: "
	if all := message + values + strings.Join(differ, ", ") + "."; len(all) <= v1alpha1.MaxWarningBytes {
		return all
	}
	var names []string
	for _, d := range differ {
		name, _, _ := strings.Cut(d, " ")
		names = append(names, name)
	}
	message += "These differ: " + strings.Join(names, ", ") + ". " + values
	for n := len(differ) - 1; n > 0; n-- {
		out := fmt.Sprintf("%s%s, and %d more, see status.baseline.platform.", message, strings.Join(differ[:n], ", "), len(differ)-n)
		if len(out) <= v1alpha1.MaxWarningBytes {
			return out
		}
	}
	return strings.TrimSuffix(message, values) + "See status.baseline.platform."
}
