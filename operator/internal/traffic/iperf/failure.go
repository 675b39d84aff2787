package iperf

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/measure"
)

// isBusy reports whether an earlier test is still in the way, which ends by itself.
func isBusy(err error) bool {
	var no *refusal
	if errors.As(err, &no) {
		return no.code == http.StatusConflict
	}
	var said toolError
	return errors.As(err, &said) && strings.Contains(string(said), "busy")
}

// refused are iperf3's words about a setting, with the field that sets it.
var refused = []struct {
	words []string
	field string
}{
	{[]string{"TCP_CONGESTION", "congestion control"}, "congestionControl"},
	{[]string{"set TCP/SCTP MSS", "set TCP MSS", "bad MSS", "MSS too large"}, "mssBytes"},
	{[]string{"socket buffer size", "set socket buffer", "buffer size too"}, "windowBytes"},
}

// explain gives an error its reason. iperf3 has no codes in its output, so only its
// sentences distinguish the errors.
func explain(err error, trial measure.TCPTrial) error {
	if measure.ReasonOf(err) != "" {
		return err
	}
	var said toolError
	if !errors.As(err, &said) {
		return &measure.Failure{
			Reason: v1alpha1.ReasonEndpointFailed, Err: err,
			Remedy: "look at the logs of the pods at the ends of the TCP connections, and whether the pod network lets the measurer reach them",
		}
	}
	for _, setting := range refused {
		for _, words := range setting.words {
			if strings.Contains(string(said), words) {
				return measure.Failf(v1alpha1.ReasonTCPSettingRefused,
					fmt.Sprintf("change measurements.tcp.%s, or the generator node's kernel settings", setting.field),
					"%w (%s)", err, given(setting.field, trial))
			}
		}
	}
	for _, words := range []string{"unable to connect", "timed out", "timeout", "No route to host", "unreachable", "idle", "Connection reset"} {
		if strings.Contains(string(said), words) {
			return measure.Failf(v1alpha1.ReasonChainFailed, "check whether each function forwards TCP in both directions, and look at its logs",
				"TCP does not pass through the chain: %w", err)
		}
	}
	return &measure.Failure{
		Reason: v1alpha1.ReasonEndpointFailed, Err: err, Remedy: "look at the logs of the pods at the ends of the TCP connections",
	}
}

func given(field string, trial measure.TCPTrial) string {
	value := any(trial.CongestionControl)
	switch field {
	case "mssBytes":
		value = trial.MSSBytes
	case "windowBytes":
		value = trial.WindowBytes
	}
	return fmt.Sprintf("%s is %v", field, value)
}
