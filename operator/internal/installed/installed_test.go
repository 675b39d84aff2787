package installed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func withArguments(arguments ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Args: arguments}}
	return d
}

// TestDefaults checks both ways to write a flag, flags without a value, and flags that are given several times.
func TestDefaults(t *testing.T) {
	d := Defaults(withArguments("--traffic-image", "a:1", "--leader-elect", "-function-image=b:1", "--function-image=b:2", "--generator-image=TRex=c:1",
		"--image-pull-secret=one", "--image-pull-secret=two", "--image-pull-policy=Always"))
	if d.TrafficImage != "a:1" || d.FunctionImage != "b:2" || d.GeneratorImages["TRex"] != "c:1" || d.ImagePullPolicy != corev1.PullAlways ||
		!slices.Equal(d.ImagePullSecrets, []string{"one", "two"}) || d.EndpointImage != "" {
		t.Errorf("%+v", d)
	}
}

// TestOwnDeployment reads the Deployment that config installs.
func TestOwnDeployment(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "manager", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "---\n")
	if !found {
		t.Fatal("the Deployment is not the second document")
	}
	d := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict([]byte(text2), d); err != nil {
		t.Fatal(err)
	}
	if images := PodImages(d); len(images) != len(podImages) {
		t.Errorf("it names %q", images)
	}
	defaults := Defaults(d)
	if defaults.GuestImage == "" || defaults.NeighborGuestImage == "" || defaults.ImagePullPolicy == "" {
		t.Errorf("%+v", defaults)
	}
	for key, value := range Labels() {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("its pods lack %s=%s", key, value)
		}
	}
}
