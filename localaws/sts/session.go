package sts

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// Credentials are temporary.
type Credentials struct {
	AccessKeyID     string    `json:"AccessKeyId"`
	SecretAccessKey string    `json:"SecretAccessKey"`
	SessionToken    string    `json:"SessionToken"`
	Expiration      time.Time `json:"Expiration"`
}

// session says who somebody is with temporary credentials.
type session struct {
	arn string // of the role as assumed, or of the user
	id  string
}

// tokenMark begins the tokens of this server; those of AWS say nothing here.
const tokenMark = "localaws/"

// token returns the token of a session, which contains it.
func (s session) token(nonce uint64) string {
	text := s.arn + "\n" + s.id + "\n" + strconv.FormatUint(nonce, 36)
	return tokenMark + base64.RawURLEncoding.EncodeToString([]byte(text))
}

// sessionOf returns the session of a token. ok is false if another server has made the token.
func sessionOf(token string) (s session, ok bool) {
	text, ours := strings.CutPrefix(token, tokenMark)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !ours || err != nil {
		return s, false
	}
	parts := strings.Split(string(raw), "\n")
	if len(parts) != 3 {
		return s, false
	}
	return session{arn: parts[0], id: parts[1]}, true
}

// seconds returns a duration that a call may leave out.
func seconds(given *int32, otherwise time.Duration) time.Duration {
	if given == nil {
		return otherwise
	}
	return time.Duration(*given) * time.Second
}
