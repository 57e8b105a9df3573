package topology

import (
	"strings"

	"github.com/godwitmq/godwit/internal/part"
)

const (
	maxName       = 80 // characters of a queue's name, with everything
	deadSuffix    = "--dlq"
	orderedSuffix = ".fifo"
)

// cutName divides the name of an exchange's channel; many is false for the name of a queue of its own.
func cutName(name string) (exchange, queue string, many bool) { return strings.Cut(name, ".") }

// awsName is the name of a queue or a topic.
func awsName(namespace string, ordered bool, parts ...string) string {
	name := strings.Join(parts, "--")
	if namespace != "" {
		name = namespace + "---" + name
	}
	if ordered {
		name += orderedSuffix
	}
	return name
}

// lastName is the name in a URL or an ARN.
func lastName(resource string) string { return resource[strings.LastIndexAny(resource, "/:")+1:] }

// name checks the form of a channel's name.
func (c *checker) name(path, name string) {
	first, second, many := cutName(name)
	if of, dead := strings.CutSuffix(name, "@dlq"); dead {
		if strings.HasSuffix(of, "@dlq") {
			c.add(path, "dead letters have no dead letters of their own: remove it")
			return
		}
		c.add(path, "the dead letters of %s are declared with it: remove it, and set dead_letter_retention there", of)
		return
	}
	for _, one := range map[bool][]string{true: {first, second}, false: {name}}[many] {
		switch err := part.Check(one); {
		case one == "*":
			c.add(path, "an exchange is declared under exchanges: move it there, as %s", first)
		case many && one == "fifo":
			c.add(path, "order is a key, not a part of the name: call it %s, and set ordered: true", first)
		case err != nil:
			c.add(path, "%q is no name of a channel: %v", name, err)
		default:
			continue
		}
		return
	}
}

// mapped checks the name of an existing resource.
func (c *checker) mapped(path, resource string, ordered bool) {
	if resource == "" {
		return
	}
	if fifo := strings.HasSuffix(resource, orderedSuffix); fifo != ordered {
		c.add(path, "%s is %s, and the channel is %s: change ordered, or name another one", lastName(resource),
			inWords(fifo), inWords(ordered))
	}
}

func inWords(ordered bool) string {
	if ordered {
		return "ordered (FIFO)"
	}
	return "not ordered"
}

func (c *checker) length(path, name string) {
	if n := len(name); n > maxName {
		c.add(path, "its name %s has %d characters, %d more than SQS accepts: shorten it or the namespace", name, n,
			n-maxName)
	}
}
