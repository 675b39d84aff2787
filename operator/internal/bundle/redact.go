package bundle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// patterns find secrets in texts. What the first group matches stays.
var patterns = []*regexp.Regexp{
	// Private keys.
	regexp.MustCompile(`()-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`),
	// JSON Web Tokens, such as those of service accounts.
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	// Headers.
	regexp.MustCompile(`(?i)(\bbearer\s+|\bauthorization["']?\s*[:=]\s*["']?basic\s+)[A-Za-z0-9+/=._~-]{8,}`),
	// Users and passwords in addresses.
	regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:"']+:[^\s/@"']+@`),
	// Settings whose names say what they are: password=x, "token": "x".
	regexp.MustCompile(`(?i)([a-z0-9_.-]*(?:password|passwd|passphrase|secret[_-]?key|access[_-]?key|api[_-]?key|private[_-]?key|preshared[_-]?key|client[_-]?secret|auth[_-]?token|access[_-]?token|refresh[_-]?token)"?\s*[:=]\s*)(?:"[^"\n]+"|'[^'\n]+'|[^\s"',;{}\[\]]+)`),
}

// replacement is what a secret is replaced by.
const replacement = "REDACTED"

// redactText replaces what looks like a secret. It returns how often it did.
func redactText(text string) (string, int) {
	n := 0
	for _, pattern := range patterns {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			kept := pattern.FindStringSubmatch(found)[1]
			value := strings.TrimPrefix(found, kept)
			quote := ""
			if strings.HasPrefix(value, `"`) || strings.HasPrefix(value, "'") {
				// JSON and YAML stay readable.
				quote = value[:1]
			}
			if value == quote+replacement+quote {
				return found
			}
			n++
			return kept + quote + replacement + quote
		})
	}
	return text, n
}

// droppedAnnotations have copies of whole objects.
var droppedAnnotations = []string{"kubectl.kubernetes.io/last-applied-configuration"}

// userTexts are fields with what users write for their machines, where passwords and keys are common.
var userTexts = []string{"userData", "userDataBase64", "networkData", "networkDataBase64"}

// secretNames are parts of the names of variables whose values are replaced.
var secretNames = []string{"PASSWORD", "PASSWD", "SECRET", "TOKEN", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"}

// redactObject replaces values of fields that often have secrets, and drops what only the API server needs. It returns how many it replaced.
func redactObject(value any) int {
	n := 0
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			n += redactObject(item)
		}
	case map[string]any:
		if meta, ok := value["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
			if annotations, ok := meta["annotations"].(map[string]any); ok {
				for _, name := range droppedAnnotations {
					delete(annotations, name)
				}
			}
		}
		n += redactVariable(value)
		for key, member := range value {
			if text, replaced := redactJSON(member); replaced > 0 {
				value[key] = text
				n += replaced
				continue
			}
			for _, field := range userTexts {
				if text, ok := member.(string); ok && key == field && text != "" {
					value[key] = fmt.Sprintf("%s (%d bytes)", replacement, len(text))
					n++
				}
			}
			n += redactObject(member)
		}
	}
	return n
}

// redactJSON does the same in a text that is an object in JSON, as a ConfigMap has them.
func redactJSON(value any) (text string, replaced int) {
	text, ok := value.(string)
	if !ok || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return "", 0
	}
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return "", 0
	}
	if replaced = redactObject(object); replaced == 0 {
		return "", 0
	}
	redacted, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		// What was read from JSON marshals; if not, nothing of it is passed on.
		return replacement, 1
	}
	return string(redacted), replaced
}

// redactVariable replaces the value of a container's variable whose name says that it is a secret.
func redactVariable(value map[string]any) int {
	name, hasName := value["name"].(string)
	text, hasText := value["value"].(string)
	if !hasName || !hasText || text == "" {
		return 0
	}
	for _, part := range secretNames {
		// Names of files are no secrets.
		if strings.Contains(strings.ToUpper(name), part) && !strings.HasPrefix(text, "/") {
			value["value"] = replacement
			return 1
		}
	}
	return 0
}
