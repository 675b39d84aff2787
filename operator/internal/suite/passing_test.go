package suite

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reasonsOfRuns returns the reasons of runs and testbeds: those of the first block of constants that has any.
func reasonsOfRuns(t *testing.T) (reasons []string) {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range file.Decls {
		block, ok := declared.(*ast.GenDecl)
		if !ok || block.Tok != gotoken.CONST || !strings.HasPrefix(block.Doc.Text(), "Reasons of conditions and events.") {
			continue
		}
		for _, spec := range block.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons = append(reasons, value)
		}
	}
	return reasons
}

// TestMayPass names every reason, so that a new one is on purpose in the list of those that are tried again, or not.
func TestMayPass(t *testing.T) {
	again := strings.Fields(`
		APIServerNotReadable ChainFailed ChainNotReady EndpointFailed GeneratorUnreliable ImageUnavailable InsufficientCPU InsufficientHugepages InsufficientMemory
		InsufficientStorage IssuerNotReadable LaunchFailed MeasurerFailed NeighborNotStarted NoMatchingNode PodForbidden PodStuck PortBusy PortDown
		ResourceMissing ResultsLost ResultsNotStored TRexServerFailed Unschedulable VersionMismatch VirtualMachineNotStarted`)
	// What follows from the experiment, the testbed or the figures comes again, and a run that was stopped is not tried against its will. Others are no
	// reasons of runs that have ended.
	final := strings.Fields(`
		Accepted Admitted AttachmentNotOffered BaselineUnusable BridgeCleanupIncomplete Calibrated CannotLoadBPF CannotTransmit CapabilityMissing
		ChainReady ControlPortsOpen DeadlineExceeded Deleting DeviceUnusable DuplicateFrameSize FrameTooLarge FrameTooSmall HistoryLimit
		HugepagesMissing ImageMissing IncompatibleAttachments Inconclusive InvalidConfiguration InvalidGeneratorConfiguration InvalidLoadRange
		InvalidNamespaceSelector InvalidPath InvalidPlaceholder InvalidQuantity InvalidTrial KeptUnarchived KubeVirtNotInstalled LoadAboveLineRate
		LockedMemoryLimit Measured MeasurerRestarted Measuring NamespaceNotAllowed NetworkAttachmentMissing NextHopUnresolved NoDefaultTestbed NoPathThroughChain
		NodeBusy NodesNotReady NotAccepted NotCalibrated NotMeasured NotOfferedByDriver NotRoot ObjectTaken PacketNotFragmented Pending PlanChanged
		Planned PortMissing Progressing Queued Ready RealtimeNotOffered Redeploying Released ResultRejected ResultsTooLarge StatusTooLarge Succeeded
		Suspended TCPSettingRefused TRexMissing TRexVersion TestbedNotFound TestbedNotReady TooFewCores VirtualMachineMismatch
		VirtualMachineRejected Waiting`)
	for _, reason := range again {
		if !MayPass(reason) {
			t.Errorf("%s is not tried again", reason)
		}
	}
	for _, reason := range final {
		if MayPass(reason) {
			t.Errorf("%s is tried again", reason)
		}
	}
	if len(passing) != len(again) {
		t.Errorf("%d reasons are tried again, and the test names %d", len(passing), len(again))
	}
	named, all := slices.Sorted(slices.Values(slices.Concat(again, final))), slices.Sorted(slices.Values(reasonsOfRuns(t)))
	if diff := cmp.Diff(all, named); diff != "" {
		t.Errorf("-declared +named here\n%s", diff)
	}
	if MayPass("") || MayPass("Unknown") {
		t.Error("a reason that is not known is tried again")
	}
}
