package access

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Statement is one statement of a policy.
type Statement struct {
	Sid          string                      `json:"Sid,omitempty"`
	Effect       string                      `json:"Effect"`
	Principal    json.RawMessage             `json:"Principal,omitempty"`
	NotPrincipal json.RawMessage             `json:"NotPrincipal,omitempty"`
	Action       Words                       `json:"Action,omitempty"`
	NotAction    Words                       `json:"NotAction,omitempty"`
	Resource     Words                       `json:"Resource,omitempty"`
	NotResource  Words                       `json:"NotResource,omitempty"`
	Condition    map[string]map[string]Words `json:"Condition,omitempty"`
}

// Words are one string or a list of strings; policies may have either.
type Words []string

// UnmarshalJSON reads a string or a list.
func (w *Words) UnmarshalJSON(b []byte) error {
	var one any
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	list, ok := one.([]any)
	if !ok {
		list = []any{one}
	}
	*w = nil
	for _, x := range list {
		switch x.(type) {
		case string, bool, float64:
			*w = append(*w, fmt.Sprint(x))
		default:
			return fmt.Errorf("policy: %v is not a string", x)
		}
	}
	return nil
}

// MarshalJSON writes a single string without a list.
func (w Words) MarshalJSON() ([]byte, error) {
	if len(w) == 1 {
		return json.Marshal(w[0])
	}
	return json.Marshal([]string(w))
}

// Valid reports whether the statement has what every statement needs.
func (s *Statement) Valid() bool {
	return (s.Effect == "Allow" || s.Effect == "Deny") &&
		(len(s.Action) > 0 || len(s.NotAction) > 0) &&
		(len(s.Principal) > 0 || len(s.NotPrincipal) > 0)
}

// Request is what a policy decides about. Its principal is a service or a user.
type Request struct {
	Service  string // principal "sns.amazonaws.com"; "": a user
	Caller   string // ARN of the user; "": a service
	Action   string // "sqs:SendMessage"
	Resource string // ARN of the queue or topic
	Source   string // aws:SourceArn
	Account  string // aws:SourceAccount, and that of the user
}

// Allows reports whether statements allow a request. A Deny takes precedence.
func Allows(all []Statement, r Request) bool {
	allowed := false
	for i := range all {
		s := &all[i]
		if !s.matches(r) {
			continue
		}
		if s.Effect == "Deny" {
			return false
		}
		allowed = true
	}
	return allowed
}

// Denies reports whether a statement denies a request. Users need no statement that allows one: they are of the
// resource's account, where their own policies count as well, and this server has none of those.
func Denies(all []Statement, r Request) bool {
	for i := range all {
		if all[i].Effect == "Deny" && all[i].matches(r) {
			return true
		}
	}
	return false
}

// matches compares the principal last, because that is decoded each time.
func (s *Statement) matches(r Request) bool {
	return matchesWords(s.Action, s.NotAction, r.Action, true) &&
		s.holds(r) &&
		s.matchesResource(r) &&
		s.matchesPrincipal(r)
}

// matchesResource compares a pattern with an ARN and with its path, /ACCOUNT/NAME. The path is how policies named a
// queue before there were ARNs, and version 1 of the SDK for Ruby still writes it.
func (s *Statement) matchesResource(r Request) bool {
	parts := strings.SplitN(r.Resource, ":", 6) // arn:aws:sqs:REGION:ACCOUNT:NAME
	path := "/" + parts[4] + "/" + parts[5]
	if len(s.NotResource) > 0 {
		return matchesWords(nil, s.NotResource, r.Resource, false) && matchesWords(nil, s.NotResource, path, false)
	}
	return matchesWords(s.Resource, nil, r.Resource, false) || matchesWords(s.Resource, nil, path, false)
}

func (s *Statement) matchesPrincipal(r Request) bool {
	if len(s.NotPrincipal) > 0 {
		return !names(s.NotPrincipal, r)
	}
	return names(s.Principal, r)
}

// names reports whether a Principal element matches the principal: by "*", by {"Service": …} for a service, by the
// ARN, the account or the account's root for a user, or by {"AWS": "*"}, which is everyone.
func names(element json.RawMessage, r Request) bool {
	var all string
	if json.Unmarshal(element, &all) == nil {
		return all == "*"
	}
	var kinds map[string]Words
	if json.Unmarshal(element, &kinds) != nil {
		return false
	}
	for kind, values := range kinds {
		for _, v := range values {
			if v == "*" || kind == "Service" && v == r.Service || kind == "AWS" && r.isUser(v) {
				return true
			}
		}
	}
	return false
}

// isUser reports whether a principal is the user of the request, or its account.
func (r Request) isUser(principal string) bool {
	if r.Caller == "" {
		return false
	}
	account, isRoot := strings.CutSuffix(principal, "root")
	return principal == r.Caller || principal == r.Account ||
		isRoot && account == r.Caller[:strings.LastIndexByte(r.Caller, ':')+1]
}

// matchesWords matches a value with wildcards. If a statement has neither element, any value matches, as for the
// resource in a queue's own policy.
func matchesWords(yes, no Words, value string, fold bool) bool {
	in := func(list Words) bool {
		return slices.ContainsFunc(list, func(pattern string) bool { return wildcard(pattern, value, fold) })
	}
	if len(no) > 0 {
		return !in(no)
	}
	return len(yes) == 0 || in(yes)
}

// wildcard matches * and ? as policies do.
func wildcard(pattern, value string, fold bool) bool {
	if fold {
		pattern, value = strings.ToLower(pattern), strings.ToLower(value)
	}
	star, mark, p, v := -1, 0, 0, 0
	for v < len(value) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, v
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == value[v]):
			p++
			v++
		case star >= 0:
			mark++
			p, v = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// holds reports whether every condition is true. A condition that this server does not know is false.
func (s *Statement) holds(r Request) bool {
	for operator, keys := range s.Condition {
		for key, values := range keys {
			if !condition(operator, key, values, r) {
				return false
			}
		}
	}
	return true
}

func condition(operator, key string, values Words, r Request) bool {
	operator, ifExists := strings.CutSuffix(operator, "IfExists")
	have, known := r.context(key)
	if !known {
		return ifExists || strings.HasPrefix(operator, "StringNot") || strings.HasPrefix(operator, "ArnNot")
	}
	for _, v := range values {
		equal, ok := compare(operator, v, have)
		if !ok {
			return false
		}
		if equal {
			return !negative(operator)
		}
	}
	return negative(operator)
}

func negative(operator string) bool { return strings.Contains(operator, "Not") }

// context returns the value of a condition key. Deliveries inside the server, and over plain HTTP to it, count as
// secure, because there is no network in between.
func (r Request) context(key string) (string, bool) {
	switch strings.ToLower(key) {
	case "aws:sourcearn":
		return r.Source, r.Source != ""
	case "aws:sourceaccount":
		return r.Account, r.Account != "" && r.Caller == ""
	case "aws:sourceowner": // which S3 does not send, so that the policy of a new topic does not allow it
		return r.Account, r.Account != "" && r.Caller == "" && r.Service != "s3.amazonaws.com"
	case "aws:principalservicename":
		return r.Service, r.Service != ""
	case "aws:principalarn":
		return r.Caller, r.Caller != ""
	case "aws:principalaccount":
		return r.Account, r.Caller != ""
	case "aws:principalisawsservice":
		return strconv.FormatBool(r.Service != ""), true
	case "aws:securetransport":
		return "true", true
	default:
		return "", false
	}
}

// compare applies an operator without its negation, which is left to the caller. ok is false for an unknown operator.
func compare(operator, pattern, have string) (equal, ok bool) {
	switch strings.Replace(operator, "Not", "", 1) {
	case "StringEquals":
		return pattern == have, true
	case "StringEqualsIgnoreCase", "Bool":
		return strings.EqualFold(pattern, have), true
	case "StringLike", "ArnLike", "ArnEquals":
		return wildcard(pattern, have, false), true
	default:
		return false, false
	}
}
