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
	return []v1alpha1.Warning{{Code: v1alpha1.WarningBaselinePlatformDiffers, Message: fmt.Sprintf(
		"The baseline was measured on another platform, so a figure may differ though the device does not: measure the baseline again on this one. "+
			"Before and now: %s.", strings.Join(differ, ", "))}}
}
