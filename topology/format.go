package topology

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// Format writes a declaration as a file that [Read] reads, without keys that are not set.
func Format(s *Spec) []byte {
	var text bytes.Buffer
	enc := yaml.NewEncoder(&text)
	enc.SetIndent(2)
	node, _ := nodeOf(reflect.ValueOf(*s))
	_ = enc.Encode(node) // a node of texts, lists and keys can be written
	return text.Bytes()
}

// nodeOf is a value as YAML; false: it is not set.
func nodeOf(v reflect.Value) (n *yaml.Node, set bool) {
	n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str"}
	if d, ok := reflect.TypeAssert[time.Duration](v); ok {
		n.Value = short(d, "0s")
		return n, d != 0
	}
	switch v.Kind() {
	case reflect.Struct:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		addFields(n, v)
		return n, len(n.Content) > 0
	case reflect.Map:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		var keys []string
		for _, key := range v.MapKeys() {
			keys = append(keys, key.String())
		}
		slices.Sort(keys)
		for _, key := range keys {
			one, _ := nodeOf(v.MapIndex(reflect.ValueOf(key))) // a channel without settings is declared as well
			addKey(n, key, one)
		}
		return n, len(n.Content) > 0
	case reflect.Slice:
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
		for i := range v.Len() {
			one, _ := nodeOf(v.Index(i))
			n.Content = append(n.Content, one)
		}
		return n, len(n.Content) > 0
	case reflect.Bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v.Bool())
	case reflect.Int:
		n.Tag, n.Value = "!!int", strconv.FormatInt(v.Int(), 10)
	case reflect.String:
		n = textNode(v.String())
	default:
		return n, false // contexts
	}
	return n, !v.IsZero()
}

func addFields(n *yaml.Node, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous {
			addFields(n, v.Field(i))
			continue
		}
		if f.Type.Kind() == reflect.Interface {
			continue // contexts
		}
		if one, set := nodeOf(v.Field(i)); set {
			addKey(n, f.Tag.Get("yaml"), one)
		}
	}
}

func addKey(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, textNode(key), value)
}

// textNode is a text, in quotes where some parser could take it for something else.
func textNode(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	if encoded := new(yaml.Node); encoded.Encode(text) == nil {
		n = encoded
	}
	return n
}
