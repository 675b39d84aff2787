package mutate

import "encoding/json"

// Encode returns the data of a ConfigMap as one JSON document, in which values that are JSON are members
// and not texts, so that edits reach what is in them.
func Encode(data map[string]string) []byte {
	members := make(map[string]json.RawMessage, len(data))
	for key, value := range data {
		if members[key] = json.RawMessage(value); !json.Valid(members[key]) {
			members[key] = text(value)
		}
	}
	document, err := json.Marshal(members)
	if err != nil {
		// Texts and valid JSON always marshal.
		panic(err)
	}
	return document
}

// Data returns the data of a ConfigMap that Encode made a document of. It returns nothing for another
// document.
func Data(document []byte) map[string]string {
	var members map[string]json.RawMessage
	if json.Unmarshal(document, &members) != nil {
		return nil
	}
	data := make(map[string]string, len(members))
	for key, value := range members {
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			data[key] = plain
		} else {
			data[key] = string(value)
		}
	}
	return data
}

func text(value string) json.RawMessage {
	out, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts always marshal
	}
	return out
}
