package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/commandline"
	"vnfbench.io/operator/internal/controller/subject"
	"vnfbench.io/operator/internal/generator/registry"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/plan"
)

// options are the command line.
type options struct {
	metricsBindAddress string
	secureMetrics      bool
	probeBindAddress   string
	leaderElect        bool
	home               string
	maxConcurrent      int
	shutdownTimeout    time.Duration
	namespaces         commandline.List
	defaults           plan.Defaults
	pullPolicy         string
	pullSecrets        commandline.List
	apiServerPorts     commandline.List
	apiServerAddresses commandline.List
	// apiServerAccess is Discovered or Any.
	apiServerAccess    string
	metricsCertificate string
	metricsService     string
	generatorImages    commandline.List
	// subjectRegistries are where the labels of images may be read, subjectFolder has the operator's credentials and certificates for them.
	subjectRegistries commandline.List
	subjectFolder     string
	registries        subject.Registries
	// agentAuthentication is Token or None.
	agentAuthentication string
	// guestConsoles is Message or None.
	guestConsoles string

	log commandline.Log
}

// maxConcurrentReconciles bounds the memory that reconciliations need at the same time: each may read
// the results of a run.
const maxConcurrentReconciles = 32

// Values of -agent-authentication.
const (
	authenticationToken = "Token"
	authenticationNone  = "None"
)

// Values of -guest-consoles.
const (
	consolesInMessage = "Message"
	consolesNone      = "None"
)

// Values of -api-server-access.
const (
	accessDiscovered = "Discovered"
	accessAny        = "Any"
)

func parse(arguments []string, output io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.metricsBindAddress, "metrics-bind-address", ":8443", "address of the metrics; \"0\" serves none")
	flags.BoolVar(&o.secureMetrics, "metrics-secure", true, "serve metrics over HTTPS to users whom the cluster's RBAC allows to get /metrics; false: plain HTTP to everyone")
	flags.StringVar(&o.metricsCertificate, "metrics-certificate", "", "folder with tls.crt and tls.key, with which metrics are served over HTTPS; absent, and without -metrics-service: a certificate that the manager makes at each start, which no one can verify")
	flags.StringVar(&o.metricsService, "metrics-service", "", "name of the Service of the metrics: the manager serves them with a certificate for this name, which it keeps in the Secret NAME-certificate of the operator's namespace, with the authority that verifies it in ca.crt; the Secret must exist")
	flags.StringVar(&o.probeBindAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; \"0\" serves none")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "let only one of several managers work at a time")
	flags.IntVar(&o.maxConcurrent, "max-concurrent-reconciles", 4, "how many runs, and how many testbeds, are worked on at the same time")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 15*time.Second, "how long a manager that is asked to stop may take to end what it has begun; give its pod a longer grace, so that it can give up its leadership after that")
	flags.Var(&o.namespaces, "namespace", "namespace to watch, may be given several times; absent: all")
	flags.StringVar(&o.home, "operator-namespace", "", "the operator's own namespace, which has the Leases of nodes; absent: that of its pod")
	flags.StringVar(&o.defaults.TrafficImage, "traffic-image", "", "image of the traffic pod where a testbed names none (required)")
	flags.Var(&o.generatorImages, "generator-image", "DRIVER=IMAGE: image of the traffic pod of testbeds with this driver that name none, by tag or digest, for a driver that needs a separate one; may be given several times; absent: there is none, and their runs end with ImageMissing")
	flags.StringVar(&o.defaults.FunctionImage, "function-image", "", "image of the reference functions where a run names none (required)")
	flags.StringVar(&o.defaults.GuestImage, "guest-image", "", "image that reference functions boot from as virtual machines where a run names none (required)")
	flags.StringVar(&o.defaults.EndpointImage, "endpoint-image", "", "image of the ends of TCP connections (required)")
	flags.StringVar(&o.defaults.NeighborImage, "neighbor-image", "", "image of noisy neighbors (required)")
	flags.StringVar(&o.defaults.NeighborGuestImage, "neighbor-guest-image", "", "image that noisy neighbors boot from as virtual machines (required)")
	flags.StringVar(&o.pullPolicy, "image-pull-policy", "", "pull policy of every pod of a run: Always, IfNotPresent or Never; absent: the cluster's default")
	flags.Var(&o.pullSecrets, "image-pull-secret", "pull secret of every pod of a run, in the run's namespace; may be given several times")
	flags.StringVar(&o.defaults.PriorityClassName, "run-priority-class", "", "name of the PriorityClass of every pod and virtual machine of a run, which has to exist; absent: the cluster's default")
	flags.Var(&o.apiServerPorts, "api-server-port", "TCP port on which the measurer may reach the API server, may be given several times; absent: 443 and 6443. With -api-server-access Discovered the cluster names the ports")
	flags.Var(&o.apiServerAddresses, "api-server-address", "range of addresses (CIDR) in which the measurer may reach these ports, may be given several times; absent: -api-server-access says")
	flags.StringVar(&o.apiServerAccess, "api-server-access", accessDiscovered, "where the measurer may reach the API server, without -api-server-address: Discovered, at the addresses and ports of the Service and the EndpointSlice kubernetes in namespace default; Any, at -api-server-port of every address")
	flags.Var(&o.subjectRegistries, "subject-registry", "host, or HOST:PORT, from which the OCI labels of images may be read that suites name in spec.template.subject.fromImage, and each host to which it redirects or sends for tokens; http:// before it allows plain HTTP; may be given several times; absent: none")
	flags.StringVar(&o.subjectFolder, "subject-registry-folder", "", "folder with .dockerconfigjson, the operator's own credentials for these registries, and ca.crt, authorities that it trusts in addition to the public ones; both may be absent")
	flags.StringVar(&o.agentAuthentication, "agent-authentication", authenticationToken, "whom the agents of runs answer: Token, who has the token of the run's measurer; None, everyone whom the NetworkPolicies let through")
	flags.StringVar(&o.guestConsoles, "guest-consoles", consolesInMessage, "where the last lines of a guest's console are shown that ends its run: Message, in the conditions and events of the run; None, nowhere, and the manager reads no pod's log")
	flags.BoolVar(&o.defaults.AwaitsArchive, "await-archive", false, "delete runs and executions by their time to live and by limits of history only when the results service has archived them")
	flags.BoolVar(&o.defaults.RemovesTrials, "remove-archived-trials", false, "delete the ConfigMaps with the trials of a run when the archive has its whole document; figures and plan stay")
	o.log.Add(flags)
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.defaults.Protocol, o.defaults.Version = measure.Protocol(), version
	return o, o.complete()
}

// complete makes the checks that flags alone cannot, and fills in the defaults of runs.
func (o *options) complete() error {
	switch {
	case o.shutdownTimeout <= 0:
		return fmt.Errorf("flag -shutdown-timeout: %s is not above 0", o.shutdownTimeout)
	case o.defaults.TrafficImage == "":
		return fmt.Errorf("flag -traffic-image is required")
	case o.defaults.FunctionImage == "":
		return fmt.Errorf("flag -function-image is required")
	case o.defaults.GuestImage == "":
		return fmt.Errorf("flag -guest-image is required")
	case o.defaults.EndpointImage == "":
		return fmt.Errorf("flag -endpoint-image is required")
	case o.defaults.NeighborImage == "":
		return fmt.Errorf("flag -neighbor-image is required")
	case o.defaults.NeighborGuestImage == "":
		return fmt.Errorf("flag -neighbor-guest-image is required")
	case o.maxConcurrent < 1 || o.maxConcurrent > maxConcurrentReconciles:
		return fmt.Errorf("flag -max-concurrent-reconciles is %d, want 1 to %d", o.maxConcurrent, maxConcurrentReconciles)
	case o.agentAuthentication != authenticationToken && o.agentAuthentication != authenticationNone:
		return fmt.Errorf("flag -agent-authentication is %q, want Token or None", o.agentAuthentication)
	case o.guestConsoles != consolesInMessage && o.guestConsoles != consolesNone:
		return fmt.Errorf("flag -guest-consoles is %q, want Message or None", o.guestConsoles)
	case o.apiServerAccess != accessDiscovered && o.apiServerAccess != accessAny:
		return fmt.Errorf("flag -api-server-access is %q, want Discovered or Any", o.apiServerAccess)
	}
	if err := o.log.Check(); err != nil {
		return err
	}
	policies := []corev1.PullPolicy{"", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}
	if o.defaults.ImagePullPolicy = corev1.PullPolicy(o.pullPolicy); !slices.Contains(policies, o.defaults.ImagePullPolicy) {
		return fmt.Errorf("flag -image-pull-policy is %q, want Always, IfNotPresent or Never", o.pullPolicy)
	}
	o.defaults.ImagePullSecrets = o.pullSecrets
	if name := o.defaults.PriorityClassName; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("flag -run-priority-class is %q, want the name of a PriorityClass", name)
	}
	o.defaults.AgentTokens = o.agentAuthentication == authenticationToken
	o.defaults.WithoutConsoles = o.guestConsoles == consolesNone
	for _, text := range o.generatorImages {
		driver, image, _ := strings.Cut(text, "=")
		name := v1alpha1.GeneratorDriver(driver)
		if g := registry.Of(name); g == nil || g.OwnImage == nil || image == "" {
			return fmt.Errorf("flag -generator-image is %q, want DRIVER=IMAGE with a driver that needs a separate image", text)
		}
		if o.defaults.GeneratorImages == nil {
			o.defaults.GeneratorImages = map[v1alpha1.GeneratorDriver]string{}
		}
		o.defaults.GeneratorImages[name] = image
	}
	for _, text := range o.apiServerPorts {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("flag -api-server-port is %q, want a TCP port", text)
		}
		o.defaults.APIServerPorts = append(o.defaults.APIServerPorts, int32(port))
	}
	for _, text := range o.apiServerAddresses {
		prefix, err := netip.ParsePrefix(text)
		if err != nil || prefix != prefix.Masked() {
			return fmt.Errorf("flag -api-server-address is %q, want a range such as 192.0.2.10/32", text)
		}
		o.defaults.APIServerAddresses = append(o.defaults.APIServerAddresses, text)
	}
	o.defaults.APIServerDiscovered = o.apiServerAccess == accessDiscovered && len(o.apiServerAddresses) == 0
	var err error
	if o.registries, err = subject.ParseRegistries(o.subjectRegistries); err != nil {
		return fmt.Errorf("flag -subject-registry: %w", err)
	}
	if o.metricsCertificate != "" && !o.secureMetrics {
		return errors.New("flag -metrics-certificate is for metrics over HTTPS: leave it out, or set -metrics-secure")
	}
	if o.metricsService != "" && (o.metricsCertificate != "" || !o.secureMetrics) {
		return errors.New("flag -metrics-service is for metrics over HTTPS whose certificate the manager keeps: leave it out, or set -metrics-secure and no -metrics-certificate")
	}
	return nil
}
