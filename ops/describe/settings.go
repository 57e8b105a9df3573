package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// settingsOf reads the settings from the data of a snapshot, whatever its form: the leaves of its objects, by their
// path below the resource. A policy becomes words.
func settingsOf(data []byte) (settings []Setting, policy []string) {
	var all map[string]any
	if json.Unmarshal(data, &all) != nil {
		return nil, nil
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(joined(path, name), inner)
			}
		case []any:
			for i, inner := range v {
				at := joined(path, fmt.Sprint(i))
				if o, ok := inner.(map[string]any); ok {
					if name, ok := o["name"].(string); ok {
						at = name
						delete(o, "name")
					}
				}
				walk(at, inner)
			}
		case nil:
		case string:
			if path == "Policy" {
				policy = policyInWords(v)
			} else if v != "" {
				settings = append(settings, Setting{path, v})
			}
		default:
			settings = append(settings, Setting{path, fmt.Sprint(v)})
		}
	}
	for name, v := range all {
		switch name {
		case "version", "channel", "arn", "name", "tags": // told elsewhere
		case "attributes":
			walk("", v)
		default:
			walk(name, v)
		}
	}
	slices.SortFunc(settings, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return settings, policy
}

// joined is the path of what is in an object. Names that say nothing are left out.
func joined(path, name string) string {
	switch {
	case name == "attributes", name == "config":
		return path
	case path == "":
		return name
	}
	return path + " " + name
}

// policyInWords tells each statement of a policy of AWS in a sentence. What is no policy is returned as it is.
func policyInWords(text string) (words []string) {
	var p struct {
		Statement many[map[string]any]
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || len(p.Statement) == 0 {
		return []string{text}
	}
	for _, s := range p.Statement {
		effect := "allows"
		if s["Effect"] == "Deny" {
			effect = "denies"
		}
		who := principals(s["Principal"])
		if not := s["NotPrincipal"]; not != nil {
			who = "everybody but " + principals(not)
		}
		what := listed(s["Action"])
		if not := s["NotAction"]; not != nil {
			what = "all but " + listed(not)
		}
		line := fmt.Sprintf("%s %s %s", effect, who, what)
		if conditions, ok := s["Condition"].(map[string]any); ok {
			line += ", if " + conditionInWords(conditions)
		}
		if sid, ok := s["Sid"].(string); ok && sid != "" {
			line += " (" + sid + ")"
		}
		words = append(words, line)
	}
	return words
}

// many is a list that may be written as its only element.
type many[T any] []T

func (m *many[T]) UnmarshalJSON(text []byte) error {
	var one T
	if err := json.Unmarshal(text, &one); err == nil {
		*m = many[T]{one}
		return nil
	}
	var all []T
	err := json.Unmarshal(text, &all)
	*m = all
	return err
}

func principals(v any) string {
	switch v := v.(type) {
	case string:
		if v == "*" {
			return "everybody"
		}
		return v
	case map[string]any:
		var all []string
		for kind, who := range v {
			names := listed(who)
			if names == "*" && kind == "AWS" {
				names = "everybody"
			}
			all = append(all, names)
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	return "nobody"
}

// listed is a value or a list of values.
func listed(v any) string {
	all, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = fmt.Sprint(one)
	}
	return strings.Join(texts, ", ")
}

func conditionInWords(operators map[string]any) string {
	var all []string
	for operator, keys := range operators {
		m, ok := keys.(map[string]any)
		if !ok {
			continue
		}
		for key, value := range m {
			all = append(all, fmt.Sprintf("%s %s %s", key, operator, listed(value)))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " and ")
}
