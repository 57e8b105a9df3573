package trust

import (
	"encoding/json"
	"slices"
	"strings"
)

// AnyTopic in Options.EnvelopesFrom is every topic.
const AnyTopic = "*"

// Topics is the topics whose messages in SNS's JSON a channel opens, as patterns of ARNs. Whoever may send to a queue
// can write such JSON: the topic is only what it says.
type Topics []string

// Includes reports whether a topic is one of them.
func (t Topics) Includes(topicARN string) bool {
	return slices.ContainsFunc(t, func(pattern string) bool { return like(pattern, topicARN) })
}

// LetIn returns the ARNs in the conditions of a policy's statements that let others send to the queue. If the policy
// does not have AWS's form, there are none: another program has written it.
func LetIn(policy string) (arns []string) {
	var doc struct{ Statement oneOrMore[policyStatement] }
	if json.Unmarshal([]byte(policy), &doc) != nil {
		return nil
	}
	for _, s := range doc.Statement {
		if s.lets("sqs:sendmessage") {
			arns = append(arns, s.sources()...)
		}
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

// policyStatement is what LetIn reads of a statement.
type policyStatement struct {
	Effect    string
	Action    oneOrMore[string]
	Condition map[string]map[string]oneOrMore[string] // values by operator and key
}

// lets reports whether the statement allows an action, which is in lower case.
func (s *policyStatement) lets(action string) bool {
	return s.Effect == "Allow" &&
		slices.ContainsFunc(s.Action, func(a string) bool { return like(strings.ToLower(a), action) })
}

// sources returns the ARNs that the statement lets in or, if it names none, all topics of the accounts that it lets in.
func (s *policyStatement) sources() []string {
	arns, named := s.values("aws:SourceArn")
	if named {
		return arns
	}
	accounts, _ := s.values("aws:SourceAccount")
	for _, account := range accounts {
		arns = append(arns, "arn:*:sns:*:"+account+":*")
	}
	return arns
}

// values returns the values that conditions require of a key, and whether any condition names the key.
func (s *policyStatement) values(key string) (values []string, named bool) {
	for operator, keys := range s.Condition {
		for k, vs := range keys {
			if !strings.EqualFold(k, key) {
				continue
			}
			named = true
			if requires(operator) {
				values = append(values, vs...)
			}
		}
	}
	return values, named
}

// requires reports whether an operator requires one of the values. A set's quantifier may stand in front of it.
func requires(operator string) bool {
	switch strings.TrimSuffix(operator[strings.LastIndexByte(operator, ':')+1:], "IfExists") {
	case "ArnEquals", "ArnLike", "StringEquals", "StringLike":
		return true
	}
	return false
}

// oneOrMore is a value of a policy that may be a list.
type oneOrMore[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (o *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*[]T)(o)) == nil {
		return nil
	}
	var one T
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*o = []T{one}
	return nil
}

// like reports whether a text matches a pattern of a policy, in which * stands for any characters and ? for one.
func like(pattern, text string) bool {
	star, again := -1, 0 // where the last * was, and which part of the text is to be tried for it next
	p := 0
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, again = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			again++
			p, t = star+1, again
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
