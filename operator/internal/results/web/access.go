package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/results/index"
)

// Access says who asks.
type Access interface {
	// Viewer returns who asks. Its error is ErrUnknownViewer for a request that names no one.
	Viewer(r *http.Request) (Viewer, error)
}

// Viewer is who asks.
type Viewer interface {
	// MayGet reports whether the viewer may get the runs of a namespace; "" is all of them.
	MayGet(ctx context.Context, namespace string) (bool, error)
}

// ErrUnknownViewer is returned for a request without a token, or with one that the cluster does not know.
var ErrUnknownViewer = errors.New("the request has no token that the cluster knows")

// Everyone lets everyone who can connect see all documents.
type Everyone struct{}

// Viewer implements Access.
func (e Everyone) Viewer(*http.Request) (Viewer, error) { return e, nil }

// MayGet implements Viewer.
func (Everyone) MayGet(context.Context, string) (bool, error) { return true, nil }

const (
	// cacheTime is how long an answer of the cluster is used again, and so how long a right stays that was taken away.
	cacheTime = time.Minute
	// refusedTime is the same for a right that there is not.
	refusedTime = 10 * time.Second
	// reviewTimeout limits a request to the cluster.
	reviewTimeout = 10 * time.Second
	// maxReviews is how many requests of one page are made at the same time.
	maxReviews = 8
	// reviewsPerSecond bounds what strangers make the service ask, and with cacheTime how many answers are kept.
	reviewsPerSecond, reviewBurst = 50, 200
)

// Proxy is a proxy that authenticates users, and names them in headers.
type Proxy struct {
	// Authorities is a file with the certificates of authorities (PEM). The proxy has a client certificate of one of them.
	Authorities string
	// Names are the common names that this certificate may have. At least one is needed.
	Names []string
	// UserHeaders and GroupHeaders are those of the user's name and groups.
	UserHeaders, GroupHeaders []string
}

// Cluster asks the cluster who a token is of, and what they may get.
type Cluster struct {
	authenticator authenticator.Request
	authorizer    authorizer.Authorizer
	audiences     authenticator.Audiences
}

// NewCluster returns the access of users of a cluster. With audiences, tokens have to be for one of them. The proxy may be nil.
func NewCluster(config *rest.Config, audiences []string, proxy *Proxy) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = reviewsPerSecond, reviewBurst
	authentication, err := authenticationv1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationv1.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	retries := &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 3}
	who := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{}, TokenAccessReviewClient: authentication, TokenAccessReviewTimeout: reviewTimeout, WebhookRetryBackoff: retries,
		CacheTTL: cacheTime, APIAudiences: audiences,
	}
	if proxy != nil {
		if who.RequestHeaderConfig, err = proxy.headers(); err != nil {
			return nil, err
		}
	}
	c := &Cluster{audiences: audiences}
	if c.authenticator, _, err = who.New(); err != nil {
		return nil, fmt.Errorf("making the authentication: %w", err)
	}
	may := authorizerfactory.DelegatingAuthorizerConfig{SubjectAccessReviewClient: authorization, AllowCacheTTL: cacheTime, DenyCacheTTL: refusedTime, WebhookRetryBackoff: retries}
	if c.authorizer, err = may.New(); err != nil {
		return nil, fmt.Errorf("making the authorization: %w", err)
	}
	return c, nil
}

func (p *Proxy) headers() (*authenticatorfactory.RequestHeaderConfig, error) {
	if len(p.Names) == 0 || len(p.UserHeaders) == 0 {
		return nil, errors.New("name the client certificate of the proxy, and the header that has the user")
	}
	authorities, err := dynamiccertificates.NewDynamicCAContentFromFile("proxy", p.Authorities)
	if err != nil {
		return nil, fmt.Errorf("reading the authorities of the proxy: %w", err)
	}
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider: authorities, AllowedClientNames: headerrequest.StaticStringSlice(p.Names),
		UsernameHeaders: headerrequest.StaticStringSlice(p.UserHeaders), GroupHeaders: headerrequest.StaticStringSlice(p.GroupHeaders),
		UIDHeaders: headerrequest.StaticStringSlice{}, ExtraHeaderPrefixes: headerrequest.StaticStringSlice{},
	}, nil
}

// Viewer implements Access.
func (c *Cluster) Viewer(r *http.Request) (Viewer, error) {
	if len(c.audiences) > 0 {
		// The authenticator asks for the audiences of the context alone.
		r = r.WithContext(authenticator.WithAudiences(r.Context(), c.audiences))
	}
	found, isKnown, err := c.authenticator.AuthenticateRequest(r)
	if isKnown && err == nil {
		return clusterUser{c.authorizer, found.User}, nil
	}
	if isOfCluster(err) {
		return nil, fmt.Errorf("asking the cluster who a token is of: %w", err)
	}
	// A token that the cluster does not know is an error too.
	return nil, errors.Join(ErrUnknownViewer, err)
}

// isOfCluster reports whether the cluster could not be asked.
func isOfCluster(err error) bool {
	if several := utilerrors.Aggregate(nil); errors.As(err, &several) {
		return slices.ContainsFunc(several.Errors(), isOfCluster)
	}
	return err != nil && (apierrors.ReasonForError(err) != metav1.StatusReasonUnknown || errors.As(err, new(*url.Error)))
}

// clusterUser is a user of the cluster.
type clusterUser struct {
	authorizer authorizer.Authorizer
	user       user.Info
}

// MayGet implements Viewer.
func (u clusterUser) MayGet(ctx context.Context, namespace string) (bool, error) {
	decision, _, err := u.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: u.user, Verb: "get", APIGroup: v1alpha1.GroupVersion.Group, APIVersion: v1alpha1.GroupVersion.Version, Resource: "benchmarkruns",
		Namespace: namespace, ResourceRequest: true,
	})
	if err != nil {
		return false, fmt.Errorf("asking the cluster for the user's rights: %w", err)
	}
	return decision == authorizer.DecisionAllow, nil
}

// scopeOf returns the namespaces of which a viewer sees the documents. One that is not empty is the only one that is asked for.
func scopeOf(ctx context.Context, viewer Viewer, x *index.Index, namespace string) (index.Scope, error) {
	all, err := viewer.MayGet(ctx, "")
	if err != nil || all {
		return index.Scope{All: all}, err
	}
	names := []string{namespace}
	if namespace == "" {
		if names, err = x.Namespaces(ctx); err != nil {
			return index.Scope{}, err
		}
	}
	may := make([]bool, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReviews)
	for i, name := range names {
		group.Go(func() (err error) {
			may[i], err = viewer.MayGet(ctx, name)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return index.Scope{}, err
	}
	scope := index.Scope{Namespaces: []string{}}
	for i, name := range names {
		if may[i] {
			scope.Namespaces = append(scope.Namespaces, name)
		}
	}
	return scope, nil
}
