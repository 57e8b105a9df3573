package describe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Statement is a statement of a policy of AWS, in words.
type Statement struct {
	Denies bool
	Who    string // "everybody", or names
	What   string // actions
	If     string // "": always
	Name   string // its Sid
}

// String is the statement as a sentence.
func (s Statement) String() string {
	text := "allows "
	if s.Denies {
		text = "denies "
	}
	text += s.Who + " " + s.What
	if s.If != "" {
		text += ", if " + s.If
	}
	if s.Name != "" {
		text += " (" + s.Name + ")"
	}
	return text
}

// statementsOf reads a policy. What is no policy is a statement without a meaning.
func statementsOf(text string) (all []Statement) {
	var p struct {
		Statement many[map[string]any]
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || len(p.Statement) == 0 {
		return []Statement{{Who: "nobody", What: "anything: it cannot be read: " + text}}
	}
	for _, in := range p.Statement {
		s := Statement{Denies: in["Effect"] == "Deny", Who: principals(in["Principal"]), What: listed(in["Action"])}
		if not := in["NotPrincipal"]; not != nil {
			s.Who = "everybody but " + principals(not)
		}
		if not := in["NotAction"]; not != nil {
			s.What = "all but " + listed(not)
		}
		if conditions, ok := in["Condition"].(map[string]any); ok {
			s.If = conditionInWords(conditions)
		}
		s.Name, _ = in["Sid"].(string)
		all = append(all, s)
	}
	return all
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
