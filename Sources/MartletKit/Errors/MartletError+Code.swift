extension MartletError {
    /// What went wrong. A newer server may return codes that are not listed here.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        init(_ rawValue: String) { self.rawValue = rawValue }
    }
}

/// Errors that arise on the device.
extension MartletError.Code {
    /// The device has no connection, or the server cannot be reached. The request was not sent.
    public static let notConnected = Self("device-not-connected")
    /// The connection broke after the request was sent. A write may have taken place.
    public static let connectionLost = Self("device-connection-lost")
    /// There was no answer in time. A write may have taken place.
    public static let timedOut = Self("device-timed-out")
    /// The answer is not what this version of MartletKit expects.
    public static let unexpectedAnswer = Self("device-unexpected-answer")
    /// A stored value does not fit the type that it is decoded to.
    public static let undecodable = Self("device-undecodable")
    /// A value cannot be stored, for example an infinite number.
    public static let unencodable = Self("device-unencodable")
    /// A key path names no stored field. See ``Storable/fieldNames``.
    public static let unknownField = Self("device-unknown-field")
    /// The call needs a user who is signed in.
    public static let notSignedIn = Self("device-not-signed-in")
    /// The session could not be read from or written to its ``SessionStore``.
    public static let sessionStoreFailed = Self("device-session-store-failed")
    /// A local file could not be read or written.
    public static let fileFailed = Self("device-file-failed")
    /// An argument is not valid; nothing was sent.
    public static let invalidArgument = Self("device-invalid-argument")
    /// The device cannot evaluate the query without the server. ``MartletError/field`` names the unsupported part.
    public static let unsupportedOffline = Self("device-unsupported-offline")
    /// Too many writes are waiting to be sent. See ``OfflineOptions``.
    public static let outboxFull = Self("device-outbox-full")
    /// The objects kept on the device take too much room. Keep fewer of them.
    public static let offlineStoreFull = Self("device-offline-store-full")
    /// Another client, possibly in another process, uses the same files.
    public static let offlineStoreInUse = Self("device-offline-store-in-use")
    /// The answer to a write was lost for so long that the server does not remember the write. It may have taken place.
    public static let unknownOutcome = Self("device-unknown-outcome")
    /// An app definition is not signed by a key that the app trusts, is older than one before it, or is damaged.
    public static let definitionRefused = Self("device-definition-refused")
    /// An app definition needs a newer version of the app. The last good one stays.
    public static let definitionNotSupported = Self("device-definition-not-supported")
}

/// Errors that the server returns. Its documentation says more about each (`docs/ERRORS.md`).
extension MartletError.Code {
    /// The request is not valid HTTP.
    public static let malformedRequest = Self("malformed-request")
    /// The path is not acceptable.
    public static let invalidPath = Self("invalid-path")
    /// A parameter or header is not valid.
    public static let invalidParameter = Self("invalid-parameter")
    /// The body is not valid JSON.
    public static let invalidJSON = Self("invalid-json")
    /// The body does not have the expected shape.
    public static let invalidBody = Self("invalid-body")
    /// A name is not acceptable.
    public static let invalidName = Self("invalid-name")
    /// An id is not acceptable.
    public static let invalidID = Self("invalid-id")
    /// The filter is not valid.
    public static let invalidFilter = Self("invalid-filter")
    /// The operator is not known.
    public static let unknownOperator = Self("unknown-operator")
    /// The request is beyond a documented limit.
    public static let limitExceeded = Self("limit-exceeded")
    /// The key or secret is missing or wrong.
    public static let unauthorized = Self("unauthorized")
    /// The credential does not give access to this.
    public static let forbidden = Self("forbidden")
    /// There is nothing at this address.
    public static let notFound = Self("not-found")
    /// The object does not exist.
    public static let objectNotFound = Self("object-not-found")
    /// The collection does not exist.
    public static let collectionNotFound = Self("collection-not-found")
    /// The job does not exist.
    public static let jobNotFound = Self("job-not-found")
    /// The index does not exist.
    public static let indexNotFound = Self("index-not-found")
    /// The role does not exist.
    public static let roleNotFound = Self("role-not-found")
    /// The method is not allowed here.
    public static let methodNotAllowed = Self("method-not-allowed")
    /// The request did not arrive in time.
    public static let requestTimeout = Self("request-timeout")
    /// The request conflicts with what is stored.
    public static let conflict = Self("conflict")
    /// The object is not in the state that the request requires.
    public static let preconditionFailed = Self("precondition-failed")
    /// The body is too large.
    public static let payloadTooLarge = Self("payload-too-large")
    /// The app has no room for further files.
    public static let fileQuotaExceeded = Self("file-quota-exceeded")
    /// The app has no room for further objects.
    public static let objectQuotaExceeded = Self("object-quota-exceeded")
    /// The address is too long.
    public static let uriTooLong = Self("uri-too-long")
    /// The media type is not accepted.
    public static let unsupportedMediaType = Self("unsupported-media-type")
    /// The expectation is not supported.
    public static let expectationFailed = Self("expectation-failed")
    /// The idempotency key was used for another request.
    public static let idempotencyKeyReused = Self("idempotency-key-reused")
    /// The request has to name the state that it changes, such as by `If-Match`.
    public static let preconditionRequired = Self("precondition-required")
    /// Too many requests.
    public static let tooManyRequests = Self("too-many-requests")
    /// The headers are too large.
    public static let headersTooLarge = Self("headers-too-large")
    /// The token is missing, wrong or has expired.
    public static let invalidToken = Self("invalid-token")
    /// The credential is wrong.
    public static let signInFailed = Self("sign-in-failed")
    /// The sign-in also needs a code of the second factor.
    public static let secondFactorRequired = Self("second-factor-required")
    /// The user has to sign in again first.
    public static let recentSignInRequired = Self("recent-sign-in-required")
    /// The user does not exist.
    public static let userNotFound = Self("user-not-found")
    /// The session does not exist.
    public static let sessionNotFound = Self("session-not-found")
    /// The client does not exist.
    public static let clientNotFound = Self("client-not-found")
    /// A member of staff has to confirm who they are first.
    public static let confirmationRequired = Self("confirmation-required")
    /// The staff member does not exist.
    public static let staffNotFound = Self("staff-not-found")
    /// Another password has to be chosen first.
    public static let passwordResetRequired = Self("password-reset-required")
    /// The app does not exist.
    public static let appNotFound = Self("app-not-found")
    /// The version does not exist.
    public static let versionNotFound = Self("version-not-found")
    /// The picture does not exist.
    public static let pictureNotFound = Self("picture-not-found")
    /// The key or secret does not exist.
    public static let keyNotFound = Self("key-not-found")
    /// The passkey does not exist.
    public static let passkeyNotFound = Self("passkey-not-found")
    /// The file does not exist.
    public static let fileNotFound = Self("file-not-found")
    /// The file was refused.
    public static let fileRefused = Self("file-refused")
    /// The file is being checked.
    public static let fileScanning = Self("file-scanning")
    /// The resumable upload does not exist.
    public static let uploadNotFound = Self("upload-not-found")
    /// The link is wrong or has expired.
    public static let invalidLink = Self("invalid-link")
    /// The file does not have this range.
    public static let rangeNotSatisfiable = Self("range-not-satisfiable")
    /// There is no thumbnail of this file.
    public static let imageRefused = Self("image-refused")
    /// The cursor is too old: start over.
    public static let cursorExpired = Self("cursor-expired")
    /// The hook or function does not exist.
    public static let hookNotFound = Self("hook-not-found")
    /// The delivery does not exist.
    public static let deliveryNotFound = Self("delivery-not-found")
    /// A hook of the app refused this.
    public static let hookRefused = Self("hook-refused")
    /// A hook of the app did not answer properly.
    public static let hookFailed = Self("hook-failed")
    /// The document does not exist.
    public static let documentNotFound = Self("document-not-found")
    /// The document has errors.
    public static let documentRefused = Self("document-refused")
    /// Nothing of this kind is scheduled.
    public static let scheduleNotFound = Self("schedule-not-found")
    /// The debug file does not exist.
    public static let debugFileNotFound = Self("debug-file-not-found")
    /// The issue does not exist.
    public static let issueNotFound = Self("issue-not-found")
    /// The crash report does not exist.
    public static let reportNotFound = Self("report-not-found")
    /// The alert does not exist.
    public static let alertNotFound = Self("alert-not-found")
    /// The question takes too long to answer.
    public static let questionTooLarge = Self("question-too-large")
    /// The ticket does not exist.
    public static let ticketNotFound = Self("ticket-not-found")
    /// The comment does not exist.
    public static let commentNotFound = Self("comment-not-found")
    /// The sprint does not exist.
    public static let sprintNotFound = Self("sprint-not-found")
    /// The label does not exist.
    public static let labelNotFound = Self("label-not-found")
    /// The credential does not exist.
    public static let credentialNotFound = Self("credential-not-found")
    /// The app has no credential for the push service.
    public static let pushCredentialMissing = Self("push-credential-missing")
    /// The installation does not exist.
    public static let installationNotFound = Self("installation-not-found")
    /// The message does not exist.
    public static let messageNotFound = Self("message-not-found")
    /// The template does not exist.
    public static let templateNotFound = Self("template-not-found")
    /// The segment does not exist.
    public static let segmentNotFound = Self("segment-not-found")
    /// The rule does not exist.
    public static let ruleNotFound = Self("rule-not-found")
    /// Something went wrong on the server.
    public static let internalError = Self("internal-error")
    /// The server does not support this.
    public static let notImplemented = Self("not-implemented")
    /// The service did not answer properly.
    public static let upstreamFailed = Self("upstream-failed")
    /// The service is not available right now.
    public static let unavailable = Self("unavailable")
    /// The service did not answer in time.
    public static let upstreamTimeout = Self("upstream-timeout")
    /// The HTTP version is not supported.
    public static let versionNotSupported = Self("http-version-not-supported")
}
