import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// The OpenFeature Remote Evaluation Protocol, version 0.3.0 (open-feature/protocol, service/openapi.yaml).
enum OFREP {
    static let maximumBodyInBytes = 64 << 10
    /// The path of the stream of changes, relative to the client's base address.
    static let eventsPath = "/ofrep/v1/events"

    /// A failed evaluation; answered with 400, or 404 for an unknown flag.
    struct Failure: Error {
        enum Code: String {
            case parse = "PARSE_ERROR"
            case targetingKeyMissing = "TARGETING_KEY_MISSING"
            case invalidContext = "INVALID_CONTEXT"
            case general = "GENERAL"
            case flagNotFound = "FLAG_NOT_FOUND"
        }

        let code: Code
        let details: String

        init(_ code: Code, _ details: String) {
            self.code = code
            self.details = details
        }

        /// - Parameter key: The key of the requested flag; nil for all.
        func response(key: String?) -> Response {
            let key = key.map { #""key":\#(JSONValue.quote($0)),"# } ?? ""
            let body = #"{\#(key)"errorCode":"\#(code.rawValue)","errorDetails":\#(JSONValue.quote(details))}"#
            return .json(ByteBuffer(string: body), status: code == .flagNotFound ? .notFound : .badRequest)
        }
    }

    /// The context in a request's body: `{"context":{"targetingKey":…,…}}`.
    ///
    /// - Throws: `Failure`.
    static func context(of request: Request) async throws -> JSONValue {
        let body: JSONValue
        do {
            body = try JSONValue(parsing: try await request.wholeBody(upTo: maximumBodyInBytes).readableBytesView)
        } catch let error as JSONError {
            throw Failure(.parse, "\(error)")
        } catch let problem as ServiceError where problem.code == .payloadTooLarge {
            throw Failure(.general, problem.detail ?? problem.code.title)
        }
        guard case .object = body else {
            throw Failure(.invalidContext, "The body must be an object with the member context.")
        }
        guard let context = body["context"], case .object = context else {
            throw Failure(.invalidContext, "The context must be an object.")
        }
        switch context["targetingKey"] {
        case .string: return context
        case nil: throw Failure(.targetingKeyMissing, "The context must have a targetingKey.")
        default: throw Failure(.invalidContext, "The targetingKey must be a string.")
        }
    }

    /// Runs an endpoint and converts its failures to the protocol's form.
    static func answering(key: String?, _ body: () async throws -> Response) async throws -> Response {
        do {
            return try await body()
        } catch let failure as Failure {
            return failure.response(key: key)
        } catch let problem as ServiceError where problem.code.status == 400 {
            return Failure(.general, problem.detail ?? problem.code.title).response(key: key)
        }
    }
}
