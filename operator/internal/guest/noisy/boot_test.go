//go:build linux

package noisy

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/neighbor"
	"vnfbench.io/operator/internal/testing/guesttest"
)

// guestVariable names the directory with vmlinuz and initrd.img.
const guestVariable = "VNFBENCH_NEIGHBOR_GUEST"

const (
	west, east = "02:00:00:00:02:01", "02:00:00:00:02:02"
	noPorts    = `{"ports": []}`
	twoPorts   = `{"ports": [
		{"name": "west", "mac": "` + west + `", "mtuBytes": 1500},
		{"name": "east", "mac": "` + east + `", "mtuBytes": 1500}]}`
)

const (
	// loadTime is how long a load continues during the test.
	loadTime = 5 * time.Second
	// settleTime is how long stress-ng may take to start its workers on an emulated
	// processor.
	settleTime = 3 * time.Second
)

// boot starts a neighbor's machine.
func boot(t *testing.T, userData string, arguments ...string) *guesttest.VM {
	t.Helper()
	arguments = append(append(guesttest.Kernel(guesttest.Files(t, guestVariable)), "-m", "256"), arguments...)
	return guesttest.Start(t, userData, neighbor.Port, arguments...)
}

// awaitReady waits until the machine is ready and prints when that was.
func awaitReady(t *testing.T, m *guesttest.VM) {
	t.Helper()
	m.Await(t, http.StatusOK, "ok")
	t.Logf("ready %.1f s after QEMU started; by the guest's own clock: %s", time.Since(m.Started).Seconds(), m.Line("msg=ready"))
}

// look is what the machine reports, and what QEMU has used until then.
type look struct {
	neighbor.Status
	qemu time.Duration
	at   time.Time
}

func lookAt(t *testing.T, m *guesttest.VM, client *neighbor.Client) look {
	t.Helper()
	status, err := client.Status(t.Context(), m.Address)
	if err != nil || status.Problem != "" || status.CPUProblem != "" || status.Account != neighbor.AccountMachine {
		t.Fatalf("%+v, %v", status, err)
	}
	return look{status, m.CPU(t), time.Now()}
}

// run has the machine load for loadTime. It returns the machine's reports from
// the beginning of the load, during it, and after its end.
func run(t *testing.T, m *guesttest.VM, load measure.NeighborLoad) (before, during, after look) {
	t.Helper()
	client := neighbor.NewClient("", m.Address)
	defer client.Close()
	if status, err := client.Start(t.Context(), m.Address, load); err != nil || !status.Running {
		t.Fatalf("started: %+v, %v", status, err)
	}
	time.Sleep(settleTime)
	before = lookAt(t, m, client)
	time.Sleep(loadTime)
	if during = lookAt(t, m, client); !during.Running {
		t.Fatalf("while it loads: %+v", during)
	}
	if status, err := client.Stop(t.Context(), m.Address); err != nil || status.Running {
		t.Fatalf("stopped: %+v, %v", status, err)
	}
	return before, during, lookAt(t, m, client)
}

// processors returns how many of the guest's processors were busy between two
// looks, and how many of this machine's QEMU used.
func processors(from, to look) (busy, qemu float64) {
	return float64(to.CPUNanoseconds-from.CPUNanoseconds) / float64(to.ElapsedNanoseconds-from.ElapsedNanoseconds),
		(to.qemu - from.qemu).Seconds() / to.at.Sub(from.at).Seconds()
}

// requireOperations prints stress-ng's account and requires operations in it.
func requireOperations(t *testing.T, status look, stressor string) {
	t.Helper()
	if len(status.Stressors) != 1 || status.Stressors[0].Name != stressor || status.Stressors[0].Operations == 0 {
		t.Errorf("the account of stress-ng is %+v, want operations of %s", status.Stressors, stressor)
		return
	}
	t.Logf("%s: %d operations, %d each second", stressor, status.Stressors[0].Operations, status.Stressors[0].OperationsPerSecond)
}

// TestBootStress checks that stress-ng loads processor and memory, and stops when asked; the
// guest refuses files where they would be in memory.
func TestBootStress(t *testing.T) {
	m := boot(t, noPorts)
	awaitReady(t, m)
	before, during, after := run(t, m, measure.NeighborLoad{Name: "cpu", Kind: measure.NeighborCPU, Workers: 1, LoadPercent: 100})
	busy, got := processors(before, during)
	t.Logf("CPU: %.2f processors busy while one worker loads; QEMU got %.2f of this machine's", busy, got)
	// An emulated processor that gets no real one loses ticks, and the work in
	// them: on a busy machine the guest counts what QEMU got.
	if busy < 0.5*min(got, 1) || busy < 0.1 || busy > 1.1 {
		t.Errorf("%.2f processors were busy, want one, or the %.2f that QEMU got", busy, got)
	}
	requireOperations(t, after, "cpu")

	time.Sleep(loadTime)
	client := neighbor.NewClient("", m.Address)
	defer client.Close()
	busy, got = processors(after, lookAt(t, m, client))
	t.Logf("idle: %.2f processors busy; QEMU got %.2f", busy, got)
	if busy > 0.3 {
		t.Errorf("%.2f processors are busy without a load", busy)
	}

	before, during, after = run(t, m, measure.NeighborLoad{Name: "memory", Kind: measure.NeighborMemory, Workers: 1, Bytes: 64 << 20})
	busy, got = processors(before, during)
	t.Logf("memory: %.2f processors busy while one worker writes 64 MiB; QEMU got %.2f", busy, got)
	requireOperations(t, after, "vm")

	_, err := client.Start(t.Context(), m.Address, measure.NeighborLoad{Name: "disk", Kind: measure.NeighborDisk, Workers: 1, Bytes: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), `no virtio disk with the serial number "vnfscratch"`) {
		t.Errorf("a load of files in memory: %v", err)
	}
	m.RequirePowerOff(t)
}

// TestBootDisk checks by the disk's own counters that files are written to the scratch disk.
func TestBootDisk(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "scratch")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(disk, 128<<20); err != nil {
		t.Fatal(err)
	}
	m := boot(t, noPorts, "-drive", "if=none,id=scratch,format=raw,file="+disk,
		"-device", "virtio-blk-pci,drive=scratch,serial="+neighbor.ScratchSerial)
	awaitReady(t, m)
	formatted := written(t, m)
	_, _, after := run(t, m, measure.NeighborLoad{Name: "disk", Kind: measure.NeighborDisk, Workers: 1, Bytes: 16 << 20})
	requireOperations(t, after, "hdd")
	now := written(t, m)
	t.Logf("the disk was written %d bytes to set it up, %d by the load", formatted, now-formatted)
	if formatted == 0 || now-formatted < 1<<20 {
		t.Error("the load was not on the disk")
	}
	m.RequirePowerOff(t)
}

// written returns the bytes that QEMU has written to the scratch disk.
func written(t *testing.T, m *guesttest.VM) int64 {
	t.Helper()
	statistics := m.Monitor(t, "info blockstats")
	match := regexp.MustCompile(`scratch: .*?wr_bytes=(\d+)`).FindStringSubmatch(statistics)
	if match == nil {
		t.Fatalf("QEMU's monitor says %q", statistics)
	}
	count, err := strconv.ParseInt(match[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestBootNetwork checks that frames pass from card to card, over a hub in QEMU.
func TestBootNetwork(t *testing.T) {
	for _, model := range []string{"virtio-net-pci", "e1000", "e1000e", "rtl8139"} {
		t.Run(model, func(t *testing.T) {
			m := boot(t, twoPorts,
				"-netdev", "hubport,id=west,hubid=1", "-device", model+",netdev=west,romfile=,mac="+west,
				"-netdev", "hubport,id=east,hubid=1", "-device", model+",netdev=east,romfile=,mac="+east)
			awaitReady(t, m)
			// A card may negotiate its link after it was set up, and loses frames meanwhile.
			time.Sleep(loadTime)
			before, during, after := run(t, m, measure.NeighborLoad{
				Name: "frames", Kind: measure.NeighborNetwork, FramesPerSecond: 200, FrameBytes: 512, Directions: "Both",
			})
			busy, got := processors(before, during)
			t.Logf("%s: sent %d frames, received %d; %.2f processors busy; QEMU got %.2f", model, after.SentFrames, after.ReceivedFrames, busy, got)
			// No port has yet counted frames that were on their way at the stop.
			if after.SentFrames < 100 || after.ReceivedFrames > after.SentFrames || after.ReceivedFrames < after.SentFrames*9/10 {
				t.Errorf("sent %d frames, received %d", after.SentFrames, after.ReceivedFrames)
			}
			if during.CPUNanoseconds <= before.CPUNanoseconds {
				t.Error("the frames took no processor time")
			}
			m.RequirePowerOff(t)
		})
	}
}

// TestBootRefused checks that the console and /readyz show the fault, and no load starts.
func TestBootRefused(t *testing.T) {
	small := filepath.Join(t.TempDir(), "scratch")
	if err := os.WriteFile(small, make([]byte, 16<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		userData, want string
		arguments      []string
	}{
		"no such card":  {twoPorts, `port "west": no network card has the hardware address ` + west, nil},
		"unknown field": {`{"cards": []}`, `user-data: json: unknown field "cards"`, nil},
		"an MTU that the card refuses": {
			strings.ReplaceAll(twoPorts, "1500", "20000"), `port "west": setting the MTU of its card (driver e1000) to 20000 bytes: invalid argument`,
			[]string{"-device", "e1000,romfile=,mac=" + west, "-device", "e1000,romfile=,mac=" + east},
		},
		"a disk that is too small": {
			noPorts, `formatting the disk /dev/vdb with the serial number "vnfscratch": exit status 1: `,
			[]string{"-drive", "if=none,id=scratch,format=raw,file=" + small, "-device", "virtio-blk-pci,drive=scratch,serial=" + neighbor.ScratchSerial},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := boot(t, tc.userData, tc.arguments...)
			reason := strings.TrimSpace(m.Await(t, http.StatusServiceUnavailable, tc.want))
			t.Logf("%s says: %s", neighbor.PathReady, reason)
			_, body, err := m.Get(neighbor.PathStatus)
			if err != nil {
				t.Fatal(err)
			}
			var status neighbor.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil || status.NotReady != reason {
				t.Errorf("%s says %s, %v", neighbor.PathStatus, body, err)
			}
			if line := m.Line(`msg="not ready"`); !strings.Contains(strings.ReplaceAll(line, `\"`, `"`), tc.want) {
				t.Errorf("the console says %q", line)
			}
			client := neighbor.NewClient("", m.Address)
			defer client.Close()
			_, err = client.Start(t.Context(), m.Address, measure.NeighborLoad{Name: "n", Kind: measure.NeighborCPU, Workers: 1, LoadPercent: 10})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("a load started: %v", err)
			}
		})
	}
}
