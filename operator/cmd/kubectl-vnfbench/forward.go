package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/transport/spdy"
)

// resultsPort is the name of the port of the pages.
const resultsPort = "https"

// transport returns one that adds the user's token, or that of the service account. Connections through a forwarded port end in the pod that the API
// server has chosen, so its certificate, which the service makes itself, proves nothing more.
func (u showingUI) transport(ctx context.Context, config *rest.Config, namespace string) (http.RoundTripper, error) {
	to := rest.AnonymousClientConfig(config)
	to.Host, to.TLSClientConfig, to.Proxy = "https://127.0.0.1", rest.TLSClientConfig{Insecure: true}, nil
	switch {
	case u.serviceAccount != "":
		clients, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		source := &accountTokens{ctx: ctx, clients: clients, namespace: namespace, name: u.serviceAccount}
		if _, err := source.Token(); err != nil {
			return nil, err
		}
		to.Wrap(transport.TokenSourceWrapTransport(transport.NewCachedTokenSource(source)))
	case hasToken(config):
		to.BearerToken, to.BearerTokenFile, to.ExecProvider, to.AuthProvider, to.AuthConfigPersister = config.BearerToken, config.BearerTokenFile, config.ExecProvider, config.AuthProvider, config.AuthConfigPersister
	default:
		return nil, fmt.Errorf("your credentials have no token, so the results service cannot know who you are: name a service account of namespace %q with --service-account whose rights you want to have, "+
			"such as one that `kubectl create serviceaccount results-reader` and `kubectl create rolebinding results-reader --clusterrole=vnfbench-viewer --serviceaccount=%s:results-reader` make", namespace, namespace)
	}
	through, err := rest.TransportFor(to)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials: %w", err)
	}
	return through, nil
}

// hasToken reports whether credentials have a token, or a program or a provider that may give one.
func hasToken(config *rest.Config) bool {
	return config.BearerToken != "" || config.BearerTokenFile != "" || config.ExecProvider != nil || config.AuthProvider != nil
}

// tokenSeconds is how long a token of a service account is valid.
const tokenSeconds = 3600

// accountTokens makes tokens of a service account.
type accountTokens struct {
	ctx             context.Context
	clients         kubernetes.Interface
	namespace, name string
}

// Token returns a token that is valid for some time.
func (a *accountTokens) Token() (*oauth2.Token, error) {
	seconds := int64(tokenSeconds)
	made, err := a.clients.CoreV1().ServiceAccounts(a.namespace).CreateToken(a.ctx, a.name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("namespace %q has no service account %q; `kubectl get serviceaccounts` lists them", a.namespace, a.name)
	}
	if err != nil {
		return nil, fmt.Errorf("making a token of service account %q: %w", a.name, err)
	}
	return &oauth2.Token{AccessToken: made.Status.Token, Expiry: made.Status.ExpirationTimestamp.Time}, nil
}

// forward forwards a free local port to a pod of the results service, until the context ends. The channel has why it ended.
func (u showingUI) forward(ctx context.Context, config *rest.Config, streams genericiooptions.IOStreams) (port uint16, ended <-chan error, err error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, nil, err
	}
	pod, remote, err := u.target(ctx, clients)
	if err != nil {
		return 0, nil, err
	}
	address := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	through, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return 0, nil, err
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(address, config)
	if err != nil {
		return 0, nil, err
	}
	// API servers before version 1.31 know SPDY alone.
	dialer := portforward.NewFallbackDialer(tunnel, spdy.NewDialer(upgrader, &http.Client{Transport: through}, http.MethodPost, address), func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	ready, failed := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", remote)}, ready, io.Discard, streams.ErrOut)
	if err != nil {
		return 0, nil, err
	}
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		return 0, nil, fmt.Errorf("forwarding a port to pod %q: %w", pod.Name, err)
	case <-time.After(time.Minute):
		return 0, nil, fmt.Errorf("forwarding a port to pod %q takes more than a minute", pod.Name)
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) == 0 {
		return 0, nil, fmt.Errorf("forwarding a port to pod %q: %w", pod.Name, err)
	}
	return ports[0].Local, failed, nil
}

// target returns a ready pod of the results service, and the port of its pages.
func (u showingUI) target(ctx context.Context, clients kubernetes.Interface) (*corev1.Pod, int32, error) {
	service, err := clients.CoreV1().Services(u.serviceNamespace).Get(ctx, u.serviceName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, 0, fmt.Errorf("namespace %q has no service %q: install the chart with results.enabled, or name the service with --results-namespace and --results-service", u.serviceNamespace, u.serviceName)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading the service of the results: %w", err)
	}
	pods, err := clients.CoreV1().Pods(u.serviceNamespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String()})
	if err != nil {
		return nil, 0, fmt.Errorf("listing the pods of the results service: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				port, err := portOf(service, pod)
				return pod, port, err
			}
		}
	}
	return nil, 0, fmt.Errorf("no pod of service %q is ready; `kubectl -n %s get pods` shows them", u.serviceName, u.serviceNamespace)
}

// portOf returns the port of the pages in a pod.
func portOf(service *corev1.Service, pod *corev1.Pod) (int32, error) {
	for _, port := range service.Spec.Ports {
		if port.Name != resultsPort {
			continue
		}
		if port.TargetPort.Type == intstr.Int && port.TargetPort.IntVal > 0 {
			return port.TargetPort.IntVal, nil
		}
		for _, container := range pod.Spec.Containers {
			for _, of := range container.Ports {
				if of.Name == port.TargetPort.StrVal {
					return of.ContainerPort, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("service %q has no port %q that its pod has: is it the results service of this plugin's version?", service.Name, resultsPort)
}
