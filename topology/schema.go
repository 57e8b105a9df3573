package topology

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// Schema returns the JSON Schema of godwit.yaml, for editors. docs/godwit.schema.json is its text. [Read] finds more
// than a schema can say.
func Schema() []byte {
	s := schemaOf(reflect.TypeFor[Spec]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = "https://raw.githubusercontent.com/godwitmq/godwit/main/docs/godwit.schema.json"
	s["title"] = "godwit.yaml"
	s["description"] = "The channels of a system, as the command godwit plans and applies them, and its connections."
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(s) // maps of texts, numbers and lists can be written
	return text.Bytes()
}

// durationPattern is what parseDuration reads.
const durationPattern = `^([0-9]+d)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`

// schemaOf returns the schema of a type.
func schemaOf(t reflect.Type) object {
	if t == reflect.TypeFor[time.Duration]() {
		return object{"type": "string", "pattern": durationPattern}
	}
	switch t.Kind() {
	case reflect.Struct:
		properties := object{}
		addProperties(properties, t)
		return object{"type": "object", "additionalProperties": false, "properties": properties}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer", "minimum": 0}
	case reflect.String:
		return object{"type": "string"}
	}
	return object{} // everything
}

func addProperties(properties object, t reflect.Type) {
	for f := range t.Fields() {
		if f.Anonymous {
			addProperties(properties, f.Type)
			continue
		}
		one := schemaOf(f.Type)
		one["description"] = f.Tag.Get("doc")
		if values := f.Tag.Get("enum"); values != "" {
			one["enum"] = strings.Split(values, ",")
		}
		properties[f.Tag.Get("yaml")] = one
	}
}
