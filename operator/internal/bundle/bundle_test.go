package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
)

// unpack returns the files of a bundle.
func unpack(t *testing.T, b *Bundle) map[string]string {
	t.Helper()
	var packed bytes.Buffer
	if err := b.Write(&packed, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		out[header.Name] = string(text)
	}
}

const token = "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"

// TestNoSecretIsPacked puts secrets everywhere, and looks for them in all that is packed.
func TestNoSecretIsPacked(t *testing.T) {
	b := New("router")
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "router",
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hidden-1", "kept": "annotation"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "hidden-2"}}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "DB_PASSWORD", Value: "hidden-3"}, {Name: "AGENT_TOKEN_FILE", Value: "/run/agent-token"}, {Name: "MODE", Value: "router"}}, Args: []string{"--password=hidden-4", "--token", "hidden-12"}}}
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "keys"}, StringData: map[string]string{"key": "hidden-5"}}
	machine := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "vnfbench.io/v1alpha1", "kind": "BenchmarkRun", "spec": map[string]any{"chain": []any{map[string]any{"userData": "hidden-6", "name": "r1"}}}}}
	stored := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"plan.json": "{\"functions\":[{\"custom\":{\"userData\":\"#cloud-config \\\"hidden-11\\\"\"}}],\"version\":3}"}}
	for name, object := range map[string]runtime.Object{"pod.yaml": pod, "secret.yaml": secret, "run.yaml": machine, "plan.yaml": stored} {
		if err := b.AddObject(name, object); err != nil {
			t.Fatal(err)
		}
	}
	b.Add("logs/pod.log", []byte("GET https://user:hidden-7@registry.example/v2\nAuthorization: Bearer hidden-8-hidden\ntoken "+token+
		"\n-----BEGIN EC PRIVATE KEY-----\nhidden-9\n-----END EC PRIVATE KEY-----\n{\"client_secret\": \"hidden-10\", \"frames\": 12}\nkept: line\n"+
		"{\"token\": \"hidden-13\"}\ntoken=hidden-14\n--token=hidden-15\nsecret: hidden-16\npsk: hidden-17\nhttps://hidden-18@host\n{\"msg\":\"{\\\"password\\\":\\\"hidden-19\\\"}\"}\npassword: abc,hidden-20\n"))
	b.LeaveOut("events", "forbidden:\nno right")
	files := unpack(t, b)
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all.WriteString(files[name])
	}
	if strings.Contains(all.String(), "hidden") || strings.Contains(all.String(), token[:30]) {
		t.Errorf("a secret is in the bundle:\n%s", all.String())
	}
	for _, kept := range []string{"kept: annotation", "/run/agent-token", "value: router", "kept: line", `{"client_secret": "REDACTED", "frames": 12}`, "registry.example/v2", "name: r1", `"version": 3`, "REDACTED (8 bytes)"} {
		if !strings.Contains(all.String(), kept) {
			t.Errorf("%q is lost:\n%s", kept, all.String())
		}
	}
	list := files["router/README.txt"]
	for _, want := range []string{"pod.yaml (3 replaced)", "logs/pod.log (13 replaced)", "run.yaml (1 replaced)", "plan.yaml (1 replaced)", "secret.yaml: Secrets are never", "events: forbidden: no right"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q:\n%s", want, list)
		}
	}
	if _, has := files["router/secret.yaml"]; has || b.Files() != 4 || len(b.Left()) != 2 {
		t.Errorf("%d files, left %q", b.Files(), b.Left())
	}
}

// TestNoSecretInText checks what becomes of texts with secrets.
func TestNoSecretInText(t *testing.T) {
	for text, want := range map[string]string{
		`{"token": "x", "frames": 12}`:                           `{"token": "REDACTED", "frames": 12}`,
		`{"token":"a\"b","frames":12}`:                           `{"token":"REDACTED","frames":12}`,
		`{"token":["x","y"],"frames":12}`:                        `{"token":["REDACTED"],"frames":12}`,
		`{"psk":12345,"frames":12}`:                              `{"psk":REDACTED,"frames":12}`,
		"token=x":                                                "token=REDACTED",
		"--token=x":                                              "--token=REDACTED",
		"--token x --size 64":                                    "--token REDACTED --size 64",
		"secret: x":                                              "secret: REDACTED",
		"psk: x":                                                 "psk: REDACTED",
		"GITHUB_TOKEN=x wpa_psk=y sessionToken: z":               "GITHUB_TOKEN=REDACTED wpa_psk=REDACTED sessionToken: REDACTED",
		"APP_SECRET=x, client-secret=y":                          "APP_SECRET=REDACTED, client-secret=REDACTED",
		"password: abc,rest":                                     "password: REDACTED",
		"password: a{b}c'd, next: 1":                             "password: REDACTED, next: 1",
		"{password: x, user: y}":                                 "{password: REDACTED, user: y}",
		"password=x,token = y":                                   "password=REDACTED = REDACTED",
		`password=x,token="y"`:                                   `password=REDACTED"`,
		`password: "not closed`:                                  `password: "REDACTED`,
		"pre_shared_key=x":                                       "pre_shared_key=REDACTED",
		"Token := x":                                             "Token := REDACTED",
		"https://TOKEN@host/path":                                "https://REDACTED@host/path",
		"https://user:p@ss@host:443":                             "https://REDACTED@host:443",
		`{"url":"https:\/\/user:x@host\/"}`:                      `{"url":"https:\/\/REDACTED@host\/"}`,
		"- --password\n- x\n- --size\n- 64":                      "- --password\n- REDACTED\n- --size\n- 64",
		`["--password", "x", "--size", "64"]`:                    `["--password", "REDACTED", "--size", "64"]`,
		`{"msg":"{\"password\":\"x\",\"frames\":12}"}`:           `{"msg":"{\"password\":\"REDACTED\",\"frames\":12}"}`,
		`{"msg":"{\"token\":\"a\\\"b\\\\\",\"frames\":12}"}`:     `{"msg":"{\"token\":\"REDACTED\",\"frames\":12}"}`,
		`{"msg":"{\"in\":\"{\\\"token\\\":\\\"x\\\"}\"}"}`:       `{"msg":"{\"in\":\"{\\\"token\\\":\\\"REDACTED\\\"}\"}"}`,
		`{"msg":"first\ntoken=x"}`:                               `{"msg":"first\ntoken=REDACTED"}`,
		`{"msg":"[\"--token\",\"x\"]"}`:                          `{"msg":"[\"--token\",\"REDACTED\"]"}`,
		`{"headers":"{\"Authorization\":\"Basic dXNlcjpwYXNz\"}`: `{"headers":"{\"Authorization\":\"Basic REDACTED\"}`,
	} {
		got, n := redactText(text)
		if got != want || n == 0 {
			t.Errorf("%s\nbecame %s\nwant   %s", text, got, want)
		}
		if again, n := redactText(got); again != got || n != 0 {
			t.Errorf("%s\nbecame %s in a second go", got, again)
		}
	}
}

// TestNoSecretAfterAnother checks that a value is replaced whose name is within the value before it.
func TestNoSecretAfterAnother(t *testing.T) {
	if got, n := redactText(`password=x,token="-y"`); got != `password=REDACTED"REDACTED"` || n != 2 {
		t.Errorf("it became %s", got)
	}
}

// TestNoSecretInFields checks what becomes of fields with secrets.
func TestNoSecretInFields(t *testing.T) {
	for text, want := range map[string]string{
		"args: [--password, x, --token, --size, '64']":                 "args: [--password, REDACTED, --token, --size, '64']",
		"args: [sh, -c, 'trex --password x']":                          "args: [sh, -c, trex --password REDACTED]",
		"args: [--image-pull-secret, registry]":                        "args: [--image-pull-secret, registry]",
		"config:\n  password: |\n    first\n    second":                "config: {password: REDACTED}",
		"config: {token: [x, z], psk: 12345, secret: {secretName: x}}": "config: {token: [REDACTED, REDACTED], psk: REDACTED, secret: {secretName: x}}",
		`data: {trials: "{\"a\":1}\n{\"userData\":\"x\"}"}`:            `data: {trials: "{\n  \"a\": 1\n}\n{\n  \"userData\": \"REDACTED (1 bytes)\"\n}"}`,
		"automountServiceAccountToken: false":                          "automountServiceAccountToken: false",
		"volumes: [{name: keys, secret: {secretName: x}}]":             "volumes: [{name: keys, secret: {secretName: x}}]",
		"axes: [{name: size, path: sizes, values: [64]}]":              "axes: [{name: size, path: sizes, values: [64]}]",
	} {
		var object, wanted any
		if err := errors.Join(yaml.Unmarshal([]byte(text), &object), yaml.Unmarshal([]byte(want), &wanted)); err != nil {
			t.Fatal(err)
		}
		if got, _ := redactObject(object); !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s\nbecame %v\nwant   %v", text, got, wanted)
		}
	}
}

// TestNoUserTextOfASuite checks that the values of axes that are user texts are in no part of an execution.
func TestNoUserTextOfASuite(t *testing.T) {
	values := v1alpha1.Combination{"seed": "hidden-1", "size": "64"}
	run := &v1alpha1.BenchmarkSuiteRun{TypeMeta: metav1.TypeMeta{APIVersion: "vnfbench.io/v1alpha1", Kind: "BenchmarkSuiteRun"}, ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}
	run.Spec.Template.Matrix.Axes = []v1alpha1.Axis{
		{Name: "seed", Path: "chain[fw,gw].custom.userData", Values: []apiextensionsv1.JSON{{Raw: []byte(`"hidden-1"`)}, {Raw: []byte("12345678")}}},
		{Name: "size", Path: "measurement.sizes", Values: []apiextensionsv1.JSON{{Raw: []byte("64")}}},
		{Name: "guest", Variants: []v1alpha1.Variant{{Name: "one", Patch: apiextensionsv1.JSON{Raw: []byte(`{"chain":[{"custom":{"networkData":"hidden-2"}}]}`)}}}},
	}
	run.Spec.Template.Matrix.Exclude = []v1alpha1.Combination{values}
	run.Spec.Template.Matrix.Include = []v1alpha1.IncludedCell{{Name: "further", Values: values, Patch: &apiextensionsv1.JSON{Raw: []byte(`{"chain":[{"custom":{"userData":"hidden-3"}}]}`)}}}
	run.Status.Cells = []v1alpha1.SuiteCell{{Name: "a", Values: values, State: v1alpha1.MeasurementPending}}
	b := New("router")
	if err := b.AddObject("suiterun.yaml", run); err != nil {
		t.Fatal(err)
	}
	files := unpack(t, b)
	text := files["router/suiterun.yaml"]
	if strings.Contains(text, "hidden") || strings.Contains(text, "12345678") || strings.Count(text, "REDACTED (8 bytes)") != 7 {
		t.Errorf("it has a user text:\n%s", text)
	}
	if strings.Count(text, `size: "64"`) != 3 || !strings.Contains(text, "path: chain[fw,gw].custom.userData") || !strings.Contains(text, "- 64") {
		t.Errorf("it lacks what is not secret:\n%s", text)
	}
	if !strings.Contains(files["router/README.txt"], "suiterun.yaml (7 replaced)") {
		t.Errorf("the list is %s", files["router/README.txt"])
	}
}

// TestNoVariableOfAUsersContainer checks that the values of a user's container's variables are in no part of what is packed.
func TestNoVariableOfAUsersContainer(t *testing.T) {
	for text, want := range map[string]string{
		"spec: {chain: [{name: own, custom: {container: {image: x, args: [kept], env: [{name: LICENSE, value: hidden}, {name: EMPTY}]}}}]}": "spec: {chain: [{name: own, custom: {container: {image: x, args: [kept], env: [{name: LICENSE, value: REDACTED (6 bytes)}, {name: EMPTY}]}}}]}",
		`data: {plan.json: '{"functions":[{"container":{"env":[{"name":"LICENSE","value":"hidden"}]}}]}'}`:                                  "data: {plan.json: \"{\\n  \\\"functions\\\": [\\n    {\\n      \\\"container\\\": {\\n        \\\"env\\\": [\\n          {\\n            \\\"name\\\": \\\"LICENSE\\\",\\n            \\\"value\\\": \\\"REDACTED (6 bytes)\\\"\\n          }\\n        ]\\n      }\\n    }\\n  ]\\n}\"}",
		"containers: [{name: function, env: [{name: VNFBENCH_WEST_MAC, value: kept}, {name: LICENSE, value: hidden}]}]":                     "containers: [{name: function, env: [{name: VNFBENCH_WEST_MAC, value: kept}, {name: LICENSE, value: REDACTED (6 bytes)}]}]",
		"containers: [{name: measurer, env: [{name: MODE, value: kept}]}]":                                                                  "containers: [{name: measurer, env: [{name: MODE, value: kept}]}]",
		"axes: [{name: lists, path: 'chain[own].custom.container.env', values: [[{name: LICENSE, value: hidden}]]}]":                        "axes: [{name: lists, path: 'chain[own].custom.container.env', values: [[{name: LICENSE, value: REDACTED (6 bytes)}]]}]",
		"axes: [{name: one, path: 'chain[own].custom.container.env[LICENSE].value', values: [hidden]}]":                                     "axes: [{name: one, path: 'chain[own].custom.container.env[LICENSE].value', values: [REDACTED (6 bytes)]}]",
		"axes: [{name: whole, path: 'chain[own].custom.container', values: [{image: x, env: [{name: LICENSE, value: hidden}]}]}]":           "axes: [{name: whole, path: 'chain[own].custom.container', values: [{image: x, env: [{name: LICENSE, value: REDACTED (6 bytes)}]}]}]",
	} {
		var object, wanted any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if got, _ := redactObject(object); !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s\nbecame %v\nwant   %v", text, got, wanted)
		}
	}
}

// TestSameBundle checks that the same content gives the same bytes.
func TestSameBundle(t *testing.T) {
	pack := func() string {
		b := New("a")
		b.Add("b", []byte("c"))
		var out bytes.Buffer
		if err := b.Write(&out, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if pack() != pack() {
		t.Error("the bytes differ")
	}
}

// TestOrdinaryTextStays checks that what is no secret is not replaced.
func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{"throughput 64 bytes: 1000000 frames/s", "basic throughput of the device", "the token is valid for 1h", "https://registry.example:5000/v2", "secretName: router-keys", "sha256:eyJhbGciOiJ", "automountServiceAccountToken: false",
		"tokens are: few", "secret not found", `secret "keys" not found`, "no token", "namespace: secret-lab", "namespace: token", "secretName: x", "secretRef: {name: x}", "tokenReview: x", "userDataSecretRef: x", "imagePullSecret: x",
		"--image-pull-secret=one", "--token-file=/run/token", "- --token\n- --size", `{"secret":{"secretName":"x"}}`, "secret:\n  secretName: x", `{"tokenReviews":1,"token":null}`, "password: \"\"", "kind: Secret",
		"image: registry.example:5000/x@sha256:0123456789abcdef", "registry.example/secret:1.0", "docker-pullable://x@sha256:0123456789abcdef", "docker-pullable://registry.example:5000/x@sha256:0123456789abcdef",
		"mail to user@host.example", "https://host.example/?mail=user@host.example", "https://host.example/@user", "digest: sha512:abcdef", "give --password=REDACTED", `"password: REDACTED\nnext: line"`} {
		if got, n := redactText(text); got != text || n != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestName(t *testing.T) {
	if got := Name("../a b/c:1"); got != "-a-b-c-1" {
		t.Errorf("got %q", got)
	}
}
