package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// settingsOf reads the settings from the data of a snapshot, whatever its form: the leaves of its objects, by their
// path below the resource. A policy becomes words.
func settingsOf(data []byte) (settings []Setting, policy []Statement) {
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
				policy = statementsOf(v)
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
