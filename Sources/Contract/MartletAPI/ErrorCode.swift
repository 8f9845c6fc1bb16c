/// A registered error: the `code` of a problem answer, with its status and title.
///
/// The list is closed. `docs/ERRORS.md` explains each code; a test compares the two.
public struct ErrorCode: Sendable, Hashable {
    public let rawValue: String
    /// HTTP status (RFC 9110 §15).
    public let status: Int
    /// The problem's `title`, the same for every occurrence.
    public let title: String

    private init(_ rawValue: String, _ status: Int, _ title: String) {
        self.rawValue = rawValue
        self.status = status
        self.title = title
    }

    // Requests in general
    public static let malformedRequest = ErrorCode("malformed-request", 400, "The request is not valid HTTP")
    public static let invalidPath = ErrorCode("invalid-path", 400, "The path is not valid")
    public static let invalidParameter = ErrorCode("invalid-parameter", 400, "A parameter or header is not valid")
    public static let invalidJSON = ErrorCode("invalid-json", 400, "The body is not valid JSON")
    public static let invalidBody = ErrorCode("invalid-body", 400, "The body does not have the expected shape")
    public static let invalidName = ErrorCode("invalid-name", 400, "A name is not valid")
    public static let invalidID = ErrorCode("invalid-id", 400, "An id is not valid")
    public static let invalidFilter = ErrorCode("invalid-filter", 400, "The filter is not valid")
    public static let unknownOperator = ErrorCode("unknown-operator", 400, "The operator is unknown")
    public static let limitExceeded = ErrorCode("limit-exceeded", 400, "The request exceeds a documented limit")
    public static let unauthorized = ErrorCode("unauthorized", 401, "The key or secret is missing or wrong")
    public static let forbidden = ErrorCode("forbidden", 403, "The credential does not allow this request")
    public static let notFound = ErrorCode("not-found", 404, "There is nothing at this address")
    public static let objectNotFound = ErrorCode("object-not-found", 404, "The object does not exist")
    public static let collectionNotFound = ErrorCode("collection-not-found", 404, "The collection does not exist")
    public static let jobNotFound = ErrorCode("job-not-found", 404, "The job does not exist")
    public static let indexNotFound = ErrorCode("index-not-found", 404, "The index does not exist")
    public static let roleNotFound = ErrorCode("role-not-found", 404, "The role does not exist")
    public static let methodNotAllowed = ErrorCode("method-not-allowed", 405, "The method is not allowed here")
    public static let requestTimeout = ErrorCode("request-timeout", 408, "The request did not arrive in time")
    public static let conflict = ErrorCode("conflict", 409, "The request conflicts with what is stored")
    public static let preconditionFailed = ErrorCode(
        "precondition-failed", 412, "The precondition of the request is not met")
    public static let payloadTooLarge = ErrorCode("payload-too-large", 413, "The body is too large")
    public static let fileQuotaExceeded = ErrorCode("file-quota-exceeded", 413, "The app has no room for further files")
    public static let objectQuotaExceeded = ErrorCode(
        "object-quota-exceeded", 413, "The app has no room for further objects")
    public static let uriTooLong = ErrorCode("uri-too-long", 414, "The address is too long")
    public static let unsupportedMediaType = ErrorCode("unsupported-media-type", 415, "The media type is not accepted")
    public static let expectationFailed = ErrorCode("expectation-failed", 417, "The expectation is not supported")
    public static let idempotencyKeyReused = ErrorCode(
        "idempotency-key-reused", 422, "The idempotency key was used with a different request")
    public static let preconditionRequired = ErrorCode(
        "precondition-required", 428, "The request must have a precondition")
    public static let tooManyRequests = ErrorCode("too-many-requests", 429, "Too many requests")
    public static let headersTooLarge = ErrorCode("headers-too-large", 431, "The headers are too large")

    // Users
    public static let invalidToken = ErrorCode("invalid-token", 401, "The token is missing, wrong or has expired")
    public static let signInFailed = ErrorCode("sign-in-failed", 401, "The user could not be authenticated")
    public static let secondFactorRequired = ErrorCode(
        "second-factor-required", 401, "A second factor is required")
    public static let recentSignInRequired = ErrorCode(
        "recent-sign-in-required", 403, "The user must sign in again first")
    public static let userNotFound = ErrorCode("user-not-found", 404, "The user does not exist")
    public static let sessionNotFound = ErrorCode("session-not-found", 404, "The session does not exist")
    public static let clientNotFound = ErrorCode("client-not-found", 404, "The client does not exist")

    // Staff
    public static let staffNotFound = ErrorCode("staff-not-found", 404, "The staff member does not exist")
    public static let passwordResetRequired = ErrorCode(
        "password-reset-required", 403, "A new password must be chosen first")
    public static let confirmationRequired = ErrorCode(
        "confirmation-required", 403, "The staff member must confirm their identity first")

    // Apps
    public static let appNotFound = ErrorCode("app-not-found", 404, "The app does not exist")
    public static let versionNotFound = ErrorCode("version-not-found", 404, "The version does not exist")
    public static let pictureNotFound = ErrorCode("picture-not-found", 404, "The picture does not exist")
    public static let keyNotFound = ErrorCode("key-not-found", 404, "The key or secret does not exist")
    public static let passkeyNotFound = ErrorCode("passkey-not-found", 404, "The passkey does not exist")

    // Files
    public static let fileNotFound = ErrorCode("file-not-found", 404, "The file does not exist")
    public static let fileRefused = ErrorCode("file-refused", 410, "The file was refused")
    public static let fileScanning = ErrorCode("file-scanning", 423, "The file is being checked")
    public static let uploadNotFound = ErrorCode("upload-not-found", 404, "The resumable upload does not exist")
    public static let invalidLink = ErrorCode("invalid-link", 403, "The link is wrong or has expired")
    public static let rangeNotSatisfiable = ErrorCode("range-not-satisfiable", 416, "The file does not have this range")
    public static let imageRefused = ErrorCode("image-refused", 422, "No thumbnail can be made of this file")

    // Following
    public static let cursorExpired = ErrorCode("cursor-expired", 410, "The cursor is too old: start over")

    // Hooks
    public static let hookNotFound = ErrorCode("hook-not-found", 404, "The hook or function does not exist")
    public static let deliveryNotFound = ErrorCode("delivery-not-found", 404, "The delivery does not exist")
    public static let hookRefused = ErrorCode("hook-refused", 400, "A hook of the app refused this")
    public static let hookFailed = ErrorCode("hook-failed", 502, "A hook of the app gave no valid answer")

    // Documents
    public static let documentNotFound = ErrorCode("document-not-found", 404, "The document does not exist")
    public static let documentRefused = ErrorCode("document-refused", 422, "The document has errors")
    public static let scheduleNotFound = ErrorCode(
        "schedule-not-found", 404, "The scheduled publication does not exist")

    // Crashes
    public static let debugFileNotFound = ErrorCode("debug-file-not-found", 404, "The debug file does not exist")
    public static let issueNotFound = ErrorCode("issue-not-found", 404, "The issue does not exist")
    public static let reportNotFound = ErrorCode("report-not-found", 404, "The crash report does not exist")
    public static let alertNotFound = ErrorCode("alert-not-found", 404, "The alert does not exist")

    // Analytics
    public static let questionTooLarge = ErrorCode("question-too-large", 422, "The question takes too long to answer")

    // Tickets
    public static let ticketNotFound = ErrorCode("ticket-not-found", 404, "The ticket does not exist")
    public static let commentNotFound = ErrorCode("comment-not-found", 404, "The comment does not exist")
    public static let sprintNotFound = ErrorCode("sprint-not-found", 404, "The sprint does not exist")
    public static let labelNotFound = ErrorCode("label-not-found", 404, "The label does not exist")

    // Notifications
    public static let credentialNotFound = ErrorCode("credential-not-found", 404, "The credential does not exist")
    public static let pushCredentialMissing = ErrorCode(
        "push-credential-missing", 409, "No device can be reached without a credential")
    public static let installationNotFound = ErrorCode("installation-not-found", 404, "The installation does not exist")
    public static let messageNotFound = ErrorCode("message-not-found", 404, "The message does not exist")
    public static let templateNotFound = ErrorCode("template-not-found", 404, "The template does not exist")
    public static let segmentNotFound = ErrorCode("segment-not-found", 404, "The segment does not exist")
    public static let ruleNotFound = ErrorCode("rule-not-found", 404, "The rule does not exist")

    // The server
    public static let internalError = ErrorCode("internal-error", 500, "Something went wrong on the server")
    public static let notImplemented = ErrorCode("not-implemented", 501, "The server does not support this")
    public static let upstreamFailed = ErrorCode("upstream-failed", 502, "The service gave no valid answer")
    public static let unavailable = ErrorCode("unavailable", 503, "The service is not available right now")
    public static let upstreamTimeout = ErrorCode("upstream-timeout", 504, "The service did not answer in time")
    public static let versionNotSupported = ErrorCode(
        "http-version-not-supported", 505, "The HTTP version is not supported")

    /// Every registered code.
    public static let all: [ErrorCode] = [
        malformedRequest, invalidPath, invalidParameter, invalidJSON, invalidBody, invalidName, invalidID,
        invalidFilter,
        unknownOperator, limitExceeded, unauthorized, forbidden, notFound, objectNotFound, collectionNotFound,
        jobNotFound, indexNotFound, roleNotFound, methodNotAllowed, requestTimeout, conflict, preconditionFailed,
        payloadTooLarge, fileQuotaExceeded, objectQuotaExceeded, uriTooLong, unsupportedMediaType,
        expectationFailed, idempotencyKeyReused, preconditionRequired, tooManyRequests, headersTooLarge, internalError,
        notImplemented, upstreamFailed,
        unavailable, upstreamTimeout, versionNotSupported,
        staffNotFound, passwordResetRequired, confirmationRequired,
        appNotFound, versionNotFound, pictureNotFound, keyNotFound,
        invalidToken, signInFailed, secondFactorRequired, recentSignInRequired, userNotFound, sessionNotFound,
        passkeyNotFound,
        clientNotFound,
        fileNotFound, fileRefused, fileScanning, uploadNotFound, invalidLink, rangeNotSatisfiable, imageRefused,
        cursorExpired,
        hookNotFound, deliveryNotFound, hookRefused, hookFailed,
        documentNotFound, documentRefused, scheduleNotFound,
        debugFileNotFound,
        issueNotFound, reportNotFound, alertNotFound,
        questionTooLarge,
        ticketNotFound, commentNotFound, sprintNotFound, labelNotFound,
        credentialNotFound, pushCredentialMissing, installationNotFound, messageNotFound, templateNotFound,
        segmentNotFound, ruleNotFound,
    ]
}
