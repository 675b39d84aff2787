package caller

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recording is an agent that keeps what it was asked with.
func recording(t *testing.T, answer http.HandlerFunc) (address string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Header.Get("Authorization"))
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), asked
}

func ok(http.ResponseWriter, *http.Request) {}

func TestClientSendsTheRenewedToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	address, asked := recording(t, ok)
	client := Client(file, address)
	defer client.CloseIdleConnections()
	if _, err := client.Get("http://" + address + "/status"); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("without a token: %v", err)
	}
	for _, text := range []string{"first\n", "second"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		response, err := client.Get("http://" + address + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
	}
	if got := strings.Join(*asked, ","); got != "Bearer first,Bearer second" {
		t.Errorf("sent %s", got)
	}
	open := Client("", address)
	defer open.CloseIdleConnections()
	response, err := open.Post("http://"+address+"/start", "", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if last := (*asked)[len(*asked)-1]; last != "" {
		t.Errorf("without a file it sent %q", last)
	}
}

// TestClientGoesNowhereElse: neither another address, nor a redirect to one, nor a proxy gets the token.
func TestClientGoesNowhereElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger, strangersAsked := recording(t, ok)
	agent, agentAsked := recording(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+stranger+"/", http.StatusTemporaryRedirect)
	})
	t.Setenv("HTTP_PROXY", "http://"+stranger)
	client := Client(file, agent)
	defer client.CloseIdleConnections()
	for _, at := range []string{stranger, "localhost:8080", strings.Replace(agent, "127.0.0.1", "[::1]", 1)} {
		_, err := client.Post("http://"+at+"/start", "", strings.NewReader("{}"))
		if err == nil || !strings.Contains(err.Error(), "is not the address of an agent") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", at, err)
		}
	}
	response, err := client.Post("http://"+agent+"/start", "", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusTemporaryRedirect || len(*agentAsked) != 1 || (*agentAsked)[0] != "Bearer secret" {
		t.Errorf("got %s, and the agent %v", response.Status, *agentAsked)
	}
	if len(*strangersAsked) != 0 {
		t.Errorf("the stranger was asked with %q", *strangersAsked)
	}
}
