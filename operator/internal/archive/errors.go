package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"syscall"

	"gocloud.dev/gcerrors"
)

// What a request to the archive returns is one of these where it did not succeed.
var (
	// ErrUnavailable may pass: the archive does not answer, not in time, or not now.
	ErrUnavailable = errors.New("the archive does not answer as it should")
	// ErrNoBucket and ErrDenied stay until someone makes the bucket, or gives the program the rights.
	ErrNoBucket = errors.New("the archive's bucket does not exist")
	ErrDenied   = errors.New("the archive does not allow it")
	// ErrFull stays until there is room.
	ErrFull = errors.New("the archive has no room")
	// ErrNotFound means that the archive is there, and has no such document.
	ErrNotFound = errors.New("the archive has no such document")
	// ErrKept means that the archive has another whole document under the key.
	ErrKept = errors.New("the archive has another document of this name, which it keeps")
)

// deniedCodes are codes of S3 and its likes for credentials that are wrong or not enough. Some come with other HTTP states than 401 and 403.
var deniedCodes = map[string]bool{
	"AccessDenied": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "ExpiredToken": true, "InvalidToken": true, "AuthorizationHeaderMalformed": true,
}

// queryOf finds the URLs in a text, and what is before their queries.
var queryOf = regexp.MustCompile(`(https?://[^\s"?]*)\?[^\s"]*`)

// withoutQueries is an error whose text has URLs without their queries. The query of a request to Azure has the token, and a
// condition shows the text to everyone who may read the run.
type withoutQueries struct{ error }

func (e withoutQueries) Error() string { return queryOf.ReplaceAllString(e.error.Error(), "$1") }

func (e withoutQueries) Unwrap() error { return e.error }

// classify puts what an error means before it. Most drivers do not distinguish a bucket that is
// missing from an object that is, so the bucket is asked.
func (a *Archive) classify(ctx context.Context, err error) error {
	var status interface{ HTTPStatusCode() int }
	var code interface{ ErrorCode() string }
	http4xx := 0
	if err != nil {
		err = withoutQueries{err}
	}
	if errors.As(err, &status) {
		http4xx = status.HTTPStatusCode()
	}
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		if there, asked := a.bucket.IsAccessible(ctx); asked == nil && !there {
			return fmt.Errorf("%w: %w", ErrNoBucket, err)
		} else if asked != nil && gcerrors.Code(asked) != gcerrors.NotFound {
			return a.classify(ctx, asked)
		}
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case gcerrors.Code(err) == gcerrors.PermissionDenied, http4xx == http.StatusForbidden, http4xx == http.StatusUnauthorized,
		errors.As(err, &code) && deniedCodes[code.ErrorCode()], errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
