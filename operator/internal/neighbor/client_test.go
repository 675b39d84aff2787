package neighbor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusalShowsNoToken checks that an agent's refusal that shows the token comes without it.
func TestRefusalShowsNoToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "refused: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	_, err := NewClient(file, address).Status(t.Context(), address)
	if err == nil || !strings.Contains(err.Error(), "refused: Bearer [token]") {
		t.Errorf("got %v", err)
	}
}
