package sts

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/wire"
)

// AssumeRoleInput is the input of AssumeRole. Policies, tags and the source identity are checked and have no effect,
// because permissions of users are not modeled.
type AssumeRoleInput struct {
	RoleARN           string      `json:"RoleArn"`
	RoleSessionName   string      `json:"RoleSessionName"`
	DurationSeconds   *int32      `json:"DurationSeconds"`
	ExternalID        string      `json:"ExternalId"`
	Policy            string      `json:"Policy"`
	PolicyARNs        []PolicyARN `json:"PolicyArns"`
	ProvidedContexts  []Context   `json:"ProvidedContexts"`
	SerialNumber      string      `json:"SerialNumber"`
	SourceIdentity    *string     `json:"SourceIdentity"`
	Tags              []Tag       `json:"Tags"`
	TokenCode         string      `json:"TokenCode"`
	TransitiveTagKeys []string    `json:"TransitiveTagKeys"`
}

// PolicyARN names a policy of IAM.
type PolicyARN struct {
	ARN string `json:"arn"`
}

// Context is an assertion of an identity provider.
type Context struct {
	ProviderARN      string `json:"ProviderArn"`
	ContextAssertion string `json:"ContextAssertion"`
}

// Tag is a tag of a session.
type Tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

// AssumeRoleOutput is the output of AssumeRole.
type AssumeRoleOutput struct {
	Credentials     *Credentials     `json:"Credentials"`
	AssumedRoleUser *AssumedRoleUser `json:"AssumedRoleUser"`
	SourceIdentity  *string          `json:"SourceIdentity"`
}

// AssumedRoleUser is who has assumed a role.
type AssumedRoleUser struct {
	AssumedRoleID string `json:"AssumedRoleId"`
	Arn           string `json:"Arn"`
}

// longestRoleSession is AWS's bound, in seconds, on the session of a role: 12 hours.
const longestRoleSession = 43_200

var sessionName = regexp.MustCompile(`^[\w+=,.@-]*$`)

// assumeRole makes temporary credentials in the role's account. The ARN that STS then tells leaves out the role's path.
// The refusals are as recorded on AWS, 2025-07-21 and 2026-02-09, those of tags 2025-04-10.
func (s *Service) assumeRole(_ context.Context, c *wire.Call, in *AssumeRoleInput) (*AssumeRoleOutput, error) {
	if fault := in.check(); fault != nil {
		return nil, fault
	}
	at := strings.SplitN(in.RoleARN, ":", 6)
	role, isRole := strings.CutPrefix(at[5], "role/")
	if !isRole || !wire.IsAccount(at[4]) {
		return nil, &wire.Error{
			Code: "AccessDenied", Status: http.StatusForbidden,
			Message: "User: " + callerOf(c).arn + " is not authorized to perform: sts:AssumeRole on resource: " +
				in.RoleARN,
		}
	}
	name := role[strings.LastIndex(role, "/")+1:]
	who := session{
		arn: "arn:" + at[1] + ":sts::" + at[4] + ":assumed-role/" + name + "/" + in.RoleSessionName,
		id:  roleID(in.RoleARN) + ":" + in.RoleSessionName,
	}
	key := wire.TemporaryKey(at[4], s.o.Random.Uint64())
	return &AssumeRoleOutput{
		Credentials:     s.credentials(who, key, seconds(in.DurationSeconds, time.Hour)),
		AssumedRoleUser: &AssumedRoleUser{AssumedRoleID: who.id, Arn: who.arn},
		SourceIdentity:  in.SourceIdentity,
	}, nil
}

func (in *AssumeRoleInput) check() *wire.Error {
	switch {
	case in.RoleARN == "":
		return missing("roleArn")
	case in.RoleSessionName == "":
		return missing("roleSessionName")
	}
	if fault := firstOf(
		checkLength(in.RoleARN, "roleArn", 20, 2048),
		checkLength(in.RoleSessionName, "roleSessionName", 2, 64),
		checkPattern(in.RoleSessionName, "roleSessionName", sessionName, `[\w+=,.@-]*`),
		checkDuration(in.DurationSeconds, longestRoleSession),
	); fault != nil {
		return fault
	}
	if !isARN(in.RoleARN) {
		return wire.Validation("%s is invalid", in.RoleARN)
	}
	if in.Policy != "" && !json.Valid([]byte(in.Policy)) {
		return &wire.Error{
			Code: "MalformedPolicyDocument", Message: "Syntax errors in policy.", Status: http.StatusBadRequest,
		}
	}
	return in.checkTags()
}

// checkTags: keys of tags differ in more than the case of their letters.
func (in *AssumeRoleInput) checkTags() *wire.Error {
	const maxTags = 50 // STS: of a session
	if len(in.Tags) > maxTags {
		return wire.Constraint(len(in.Tags), "tags", "Member must have length less than or equal to 50")
	}
	var keys []string
	for _, tag := range in.Tags {
		key := strings.ToLower(tag.Key)
		if slices.Contains(keys, key) {
			return &wire.Error{
				Code:    "InvalidParameterValue",
				Message: "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
			}
		}
		keys = append(keys, key)
	}
	for _, key := range in.TransitiveTagKeys {
		if !slices.Contains(keys, strings.ToLower(key)) {
			return &wire.Error{
				Code:    "InvalidParameterValue",
				Message: "The specified transitive tag key must be included in the requested tags.",
			}
		}
	}
	return nil
}

// roleID returns the id of a role in the form of IAM's. It is always the same for one ARN, since no role is stored.
func roleID(arn string) string {
	sum := sha256.Sum256([]byte(arn))
	return "AROA" + base32.StdEncoding.EncodeToString(sum[:])[:17]
}
