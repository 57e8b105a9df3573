package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Read reads a declaration, and returns every mistake in it as a [*MistakesError]. The name of the file is for the
// messages. Read calls no service.
func Read(file string, text []byte) (*Spec, error) {
	r := reader{mistakes: mistakes{file: file, at: map[string]place{}}}
	s := new(Spec)
	if err := r.whole(text, s); err != nil {
		return nil, err
	}
	s.check(&r.mistakes)
	if err := r.err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Locate adds to the mistakes of an error where they are in the file of the declaration. Use it for errors of Plan and
// Apply, which find mistakes that only the service knows. Other errors stay as they are.
func Locate(err error, file string, text []byte) error {
	var found *MistakesError
	if !errors.As(err, &found) {
		return err
	}
	r := reader{mistakes: mistakes{file: file, at: map[string]place{}}}
	if r.whole(text, new(Spec)) != nil {
		return err
	}
	m := mistakes{file: file, at: r.at}
	for _, one := range found.Mistakes {
		m.add(one.Path, "%s", one.Text)
	}
	return m.err()
}

// whole reads a file. What is wrong in it is with the reader's mistakes, if it is YAML.
func (r *reader) whole(text []byte, s *Spec) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil // an empty file declares nothing
	}
	if err != nil {
		return fmt.Errorf("%s: it is no YAML: %w", r.file, err)
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		r.addAt(place{second.Line, second.Column}, "", "a second document: put everything into one")
	}
	r.read("", doc.Content[0], reflect.ValueOf(s).Elem())
	r.inherit(s)
	return nil
}

// inherit gives the queues of an exchange its order, and reports those that say otherwise.
func (r *reader) inherit(s *Spec) {
	for name, c := range s.Channels {
		exchange, _, many := cutName(name)
		e, declared := s.Exchanges[exchange]
		if !many || !declared || !e.Ordered || c.Ordered {
			continue
		}
		if path := "channels." + name + ".ordered"; r.at[path] != (place{}) {
			r.add(path, "exchange %s is ordered, and all of its channels are: remove it", exchange)
		}
		c.Ordered = true
		s.Channels[name] = c
	}
}

// reader copies nodes of YAML into values, and remembers where each was.
type reader struct {
	mistakes
	defaults Channel // with which channels begin
}

// below is the path of a key of the value at a path.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// read copies a node into a value.
func (r *reader) read(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if _, known := r.at[path]; !known {
		r.at[path] = place{n.Line, n.Column}
	}
	if n.Tag == "!!null" {
		return // a key without a value is one that is not set
	}
	switch v.Kind() {
	case reflect.Struct:
		r.readStruct(path, n, v)
	case reflect.Map:
		r.readMap(path, n, v)
	case reflect.Slice:
		r.readList(path, n, v)
	default:
		r.readScalar(path, n, v)
	}
}

// wrongKind reports a value of another kind than is wanted.
func (r *reader) wrongKind(path string, n *yaml.Node, want string) {
	is := map[yaml.Kind]string{yaml.MappingNode: "keys with values", yaml.SequenceNode: "a list"}[n.Kind]
	if is == "" {
		is = strconv.Quote(n.Value)
	}
	r.addAt(place{n.Line, n.Column}, path, "it is %s and should be %s", is, want)
}

// pairs calls f for each key of a mapping that is there once.
func (r *reader) pairs(path string, n *yaml.Node, f func(key string, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.wrongKind(path, n, "keys with values")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, where := n.Content[i], place{n.Content[i].Line, n.Content[i].Column}
		own := below(path, key.Value)
		switch {
		case key.Tag == "!!merge":
			r.addAt(where, own, "keys cannot be merged: use defaults, or write them")
		case key.Kind != yaml.ScalarNode:
			r.addAt(where, path, "a key must be a word")
		case seen[key.Value]:
			r.addAt(where, own, "it is there twice: remove one")
		default:
			seen[key.Value] = true
			r.at[own] = where
			f(key.Value, n.Content[i+1])
		}
	}
}

func (r *reader) readStruct(path string, n *yaml.Node, v reflect.Value) {
	fields := fieldsOf(v)
	names := slices.Sorted(maps.Keys(fields))
	var channels *yaml.Node
	r.pairs(path, n, func(key string, value *yaml.Node) {
		field, known := fields[key]
		switch {
		case !known:
			own := below(path, key)
			r.add(own, "there is no such key%s; there are %s", suggestion(key, names), strings.Join(names, ", "))
		case path == "" && key == "channels":
			channels = value // they begin with the defaults, which may be behind them
		default:
			r.read(below(path, key), value, field)
		}
	})
	if channels != nil {
		r.defaults = fields["defaults"].Interface().(Channel)
		r.read("channels", channels, fields["channels"])
	}
}

// fieldsOf returns the fields of a struct by the names that they have in a file.
func fieldsOf(v reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		if v.Type().Field(i).Anonymous {
			maps.Copy(fields, fieldsOf(v.Field(i)))
			continue
		}
		fields[v.Type().Field(i).Tag.Get("yaml")] = v.Field(i)
	}
	return fields
}

func (r *reader) readMap(path string, n *yaml.Node, v reflect.Value) {
	all := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() { // of the defaults
		all.SetMapIndex(key, v.MapIndex(key))
	}
	r.pairs(path, n, func(key string, value *yaml.Node) {
		one := reflect.New(v.Type().Elem()).Elem()
		if path == "channels" {
			one.Set(reflect.ValueOf(r.defaults))
		}
		r.read(below(path, key), value, one)
		all.SetMapIndex(reflect.ValueOf(key), one)
	})
	v.Set(all)
}

func (r *reader) readList(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		r.wrongKind(path, n, "a list")
		return
	}
	all := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, one := range n.Content {
		r.read(below(path, strconv.Itoa(i)), one, all.Index(i))
	}
	v.Set(all)
}

func (r *reader) readScalar(path string, n *yaml.Node, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := parseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			r.wrongKind(path, n, "a duration with its unit, such as 90s, 15m, 12h or 14d")
			return
		}
		v.SetInt(int64(d))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		if n.Tag != "!!bool" {
			r.wrongKind(path, n, "true or false")
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int:
		i, err := strconv.Atoi(n.Value)
		if n.Tag != "!!int" || err != nil {
			r.wrongKind(path, n, "a number")
			return
		}
		v.SetInt(int64(i))
	case reflect.String:
		if n.Kind == yaml.ScalarNode && n.Tag != "!!str" {
			r.wrongKind(path, n, "a text: put it in quotes")
			return
		}
		if n.Kind != yaml.ScalarNode {
			r.wrongKind(path, n, "a text")
			return
		}
		v.SetString(n.Value)
	}
}

// day is the unit of durations that Go does not have.
const day = 24 * time.Hour

// parseDuration reads a duration of Go, also in days.
func parseDuration(text string) (time.Duration, error) {
	days, rest, some := strings.Cut(text, "d")
	if !some {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || rest == "" {
		return time.Duration(n) * day, err
	}
	d, err := time.ParseDuration(rest)
	return time.Duration(n)*day + d, err
}
