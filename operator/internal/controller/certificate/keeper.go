// Package certificate keeps the certificate with which the operator serves its metrics: a Secret goes in, and what a TLS server
// presents comes out. The Secret also has the authority by which who collects the metrics verifies the certificate.
package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocks "k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/internal/clock"
)

// interval is how often the Secret is read. Several operators serve metrics, and one of them renews it.
const interval = time.Minute

// conflictInterval is how soon it is read again after another operator has renewed it.
const conflictInterval = time.Second

// Keeper fills a Secret that exists, renews what it has, and serves it. Its rights are those to this Secret alone, which are in the
// chart and in config/rbac/bindings.yaml.
type Keeper struct {
	// Client writes, Reader reads without a cache.
	Client client.Client
	Reader client.Reader
	Clock  clocks.PassiveClock
	// Secret is its name, Host the name by which the metrics are reached.
	Secret client.ObjectKey
	Host   string

	serving atomic.Pointer[tls.Certificate]
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: operators that are not the leader serve metrics too.
func (*Keeper) NeedLeaderElection() bool { return false }

// Start keeps the Secret until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithValues("Secret", k.Secret)
	for {
		wait := interval
		switch err := k.keep(ctx); {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsConflict(err):
			// Another operator was first. The next read has its certificate.
			log.V(1).Info("Reading the certificate of the metrics again", "error", err.Error())
			wait = conflictInterval
		case err != nil:
			log.Error(err, "Keeping the certificate of the metrics")
		}
		if clock.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// keep serves what the Secret has, and renews it first if it is time.
func (k *Keeper) keep(ctx context.Context) error {
	secret := &corev1.Secret{}
	err := k.Reader.Get(ctx, k.Secret, secret)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("apply the chart again, which has the Secret that the operator fills: %w", err)
	} else if err != nil {
		return fmt.Errorf("reading the Secret: %w", err)
	}
	now := k.Clock.Now()
	pair, reason := load(secret.Data, k.Host, now)
	if reason != nil {
		ctrl.LoggerFrom(ctx).Info("Renewing the certificate of the metrics", "Secret", k.Secret, "reason", reason.Error())
		if secret.Data, err = renew(secret.Data, k.Host, now); err != nil {
			return fmt.Errorf("making a certificate: %w", err)
		}
		if err := k.Client.Update(ctx, secret); err != nil {
			return fmt.Errorf("storing a new certificate: %w", err)
		}
		if pair, err = load(secret.Data, k.Host, now); err != nil {
			return fmt.Errorf("the new certificate cannot be used: %w", err)
		}
	}
	k.serving.Store(pair)
	return nil
}

// GetCertificate returns what is served, as tls.Config asks for it with each connection.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair := k.serving.Load(); pair != nil {
		return pair, nil
	}
	return nil, errors.New("the certificate of the metrics was not read yet: the log has the cause")
}
