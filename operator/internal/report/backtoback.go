package report

import (
	"fmt"

	"vnfbench.io/operator/api/v1alpha1"
)

// rfc2544Bursts is how many bursts RFC 2544 section 26.4 asks for.
const rfc2544Bursts = 50

func backToBackDeviations(spec *v1alpha1.BackToBack, results []v1alpha1.FrameResult) []string {
	if spec == nil {
		return nil
	}
	var found []string
	if spec.Repeats != 0 && spec.Repeats < rfc2544Bursts {
		found = append(found, fmt.Sprintf("back-to-back frames: %d searches, RFC 2544 section 26.4 asks for %d bursts; RFC 9004 leaves the number open", spec.Repeats, rfc2544Bursts))
	}
	for _, frame := range results {
		if b := frame.BackToBack; b != nil && b.MaximumOrigin != v1alpha1.MaximumLineRate {
			found = append(found, fmt.Sprintf("back-to-back frames, %s: bursts have %d frames/s, %s; RFC 9004 means the theoretical rate of the link, also in the buffer times",
				sizeWords(frame), b.MaximumFramesPerSecond, maximumOrigin(b.MaximumOrigin)))
		}
	}
	return found
}
