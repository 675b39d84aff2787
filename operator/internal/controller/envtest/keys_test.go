package envtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/operator/internal/chain"
	"vnfbench.io/operator/internal/plan"
)

// gateways makes it a chain of two encryption gateways.
func gateways(run *v1alpha1.BenchmarkRun) {
	run.Spec.Experiment.Chain = []v1alpha1.NetworkFunction{
		{Name: "west", Function: v1alpha1.FunctionEncryptionGateway}, {Name: "east", Function: v1alpha1.FunctionEncryptionGateway},
	}
}

// keys returns the gateways' shared key, by the name of the Secret.
func (l *lab) keys() map[string]string {
	var secrets corev1.SecretList
	l.Expect(cluster.List(l.ctx, &secrets, client.InNamespace(l.namespace))).To(Succeed())
	keys := map[string]string{}
	for _, secret := range secrets.Items {
		keys[secret.Name] = string(secret.Data["psk"])
	}
	return keys
}

// TestGatewayKeys checks that the keys are the run's, exist as long as its chain, and are in no other
// object.
func TestGatewayKeys(t *testing.T) {
	l := newLab(t, nil)
	// The keys exist as long as the chain.
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("gateways", gateways)
	var secrets []*corev1.Secret
	for _, name := range []string{"west", "east"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Keys(name)}}
		l.Eventually(func() error { return l.get(secret) }).Should(Succeed())
		l.Expect(metav1.IsControlledBy(secret, run)).To(BeTrue())
		l.Expect(secret.Data).To(HaveLen(3))
		secrets = append(secrets, secret)
	}
	l.Expect(secrets[0].Data["psk"]).To(Equal(secrets[1].Data["psk"]))
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")

	var configMaps corev1.ConfigMapList
	l.Expect(cluster.List(l.ctx, &configMaps, client.InNamespace(l.namespace))).To(Succeed())
	l.Expect(l.get(run)).To(Succeed())
	for _, object := range append(objectsIn(configMaps), any(run)) {
		text, err := json.Marshal(object)
		l.Expect(err).NotTo(HaveOccurred())
		for _, secret := range secrets {
			for name, key := range secret.Data {
				if strings.Contains(string(text), string(key)) {
					t.Errorf("%s is in %T", name, object)
				}
			}
		}
	}
	for _, secret := range secrets {
		l.Eventually(func() bool { return apierrors.IsNotFound(l.get(secret)) }).Should(BeTrue())
	}
}

// TestInterruptedKeys checks that the keys of an operator that ended between two Secrets are not used
// together with others.
func TestInterruptedKeys(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	run := l.run("interrupted", gateways)
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: plan.NamesOf(run).Keys(name)}}
	}
	left := secret("west")
	left.Data = map[string][]byte{"psk": []byte("earlier")}
	l.Expect(cluster.Create(l.ctx, left)).To(Succeed())
	l.recordSecrets(run, fmt.Sprintf(`{%q: ""}`, left.Name))
	// Without its testbed the run has waited until here.
	l.testbed()
	west, east := secret("west"), secret("east")
	l.Eventually(func() bool {
		return l.get(west) == nil && l.get(east) == nil && string(west.Data["psk"]) != "earlier" && string(west.Data["psk"]) == string(east.Data["psk"])
	}).Should(BeTrue())
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// recordSecrets sets what the status has of the run's Secrets.
func (l *lab) recordSecrets(run *v1alpha1.BenchmarkRun, secrets string) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"secrets":%s}}`, secrets)
	l.Expect(cluster.Status().Patch(l.ctx, run, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
}

// TestSecretThatAnotherMadeBefore checks that a Secret that another writer made under the name of one of the run's, before the operator did,
// is neither used nor deleted.
func TestSecretThatAnotherMadeBefore(t *testing.T) {
	l := newLab(t, nil)
	run := l.run("taken", gateways)
	west, east := secretNamed(l, plan.NamesOf(run).Keys("west")), secretNamed(l, plan.NamesOf(run).Keys("east"))
	east.StringData = map[string]string{"psk": "known"}
	l.Expect(cluster.Create(l.ctx, east)).To(Succeed())
	// Without its testbed the run has waited until here.
	l.testbed()
	l.expect(run, v1alpha1.ConditionSucceeded, "False/ObjectTaken")
	l.Expect(l.message(run, v1alpha1.ConditionSucceeded)).To(ContainSubstring(`delete Secret %q`, east.Name))
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Released")
	l.Expect(run.Status.Secrets).To(BeEmpty())
	l.Expect(apierrors.IsNotFound(l.get(west))).To(BeTrue())
	kept := secretNamed(l, east.Name)
	l.Expect(l.get(kept)).To(Succeed())
	l.Expect(kept.UID).To(Equal(east.UID))
	l.Expect(l.pods(chain.ComponentFunction)).To(BeEmpty())
}

// TestKeysOfAnOlderOperator checks that a chain that an operator launched which recorded no Secrets leaves none of its keys to the next chain.
func TestKeysOfAnOlderOperator(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("gateways", gateways)
	l.expect(run, v1alpha1.ConditionMeasured, "Unknown/Measuring")
	before := l.keys()
	l.Expect(before).To(HaveLen(2))
	l.stop()
	l.recordSecrets(run, "null")
	l.startOperator()
	l.setSuspend(run, true)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	l.Expect(l.keys()).To(BeEmpty())
	l.setSuspend(run, false)
	l.Eventually(l.keys).Should(HaveLen(2))
	for name, key := range l.keys() {
		l.Expect(key).NotTo(Equal(before[name]))
	}
	l.node.set(func(n *node) { n.silent[pathChain] = false })
	l.expect(run, v1alpha1.ConditionSucceeded, "True/Succeeded")
}

// TestSecretThatAnotherMade checks that a Secret stays which another writer made under the name of one of the run's, after it had deleted that
// one. An operator that starts meanwhile knows which one it made.
func TestSecretThatAnotherMade(t *testing.T) {
	l := newLab(t, nil)
	l.node.set(func(n *node) { n.silent[pathChain] = true })
	l.testbed()
	run := l.run("gateways", gateways)
	l.Eventually(func() map[string]v1alpha1.ObjectUID {
		l.Expect(l.get(run)).To(Succeed())
		return run.Status.Secrets
	}).Should(And(HaveLen(2), HaveEach(Not(BeEmpty()))), "the status names both, and then the UID of each")
	west, east := secretNamed(l, plan.NamesOf(run).Keys("west")), secretNamed(l, plan.NamesOf(run).Keys("east"))
	for _, secret := range []*corev1.Secret{west, east} {
		l.Expect(l.get(secret)).To(Succeed())
		l.Expect(run.Status.Secrets).To(HaveKeyWithValue(secret.Name, v1alpha1.ObjectUID(secret.UID)))
	}
	l.stop()
	l.Expect(cluster.Delete(l.ctx, west)).To(Succeed())
	others := secretNamed(l, west.Name)
	others.StringData = map[string]string{"password": "other"}
	l.Expect(cluster.Create(l.ctx, others)).To(Succeed())
	l.startOperator()
	l.setSuspend(run, true)
	l.expect(run, v1alpha1.ConditionAdmitted, "False/Suspended")
	l.Expect(apierrors.IsNotFound(l.get(east))).To(BeTrue())
	l.Expect(run.Status.Secrets).To(BeEmpty())
	kept := secretNamed(l, west.Name)
	l.Expect(l.get(kept)).To(Succeed())
	l.Expect(kept.UID).To(Equal(others.UID))
}

func secretNamed(l *lab, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
}

func objectsIn(list corev1.ConfigMapList) (objects []any) {
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects
}
