import Foundation
import HTTPTypes
import Hummingbird
import MartletCore
import NIOCore

/// Says where a new thing is, in every answer 201 (RFC 9110 §15.3.2).
///
/// Only the gateway knows the whole address of a request, so what is sent is a reference relative to it (RFC 3986 §4.2). An endpoint names the
/// service's path in `Location`, such as `/auth/me`, or such a reference. Where it names nothing, the thing is at the request's own path after `PUT` and
/// `PATCH`, and after `POST` behind it, by the id in the answer.
struct LocationMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    /// The first of them that the answer has.
    private static let names = ["_id", "id", "number", "name"]

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        guard response.status == .created else { return response }
        let path = request.uri.path
        let target = if let named = response.headers[.location] { named } else { try await Self.target(of: response, request.method, path) }
        response.headers[.location] = target.hasPrefix("/") ? RelativeReference.from(path, to: target) : target
        return response
    }

    private static func target(of response: Response, _ method: HTTPRequest.Method, _ path: String) async throws -> String {
        guard method == .post else { return path }
        let id = try await response.wholeBody().withUnsafeReadableBytes { JSONMember.scalar(names, of: $0.bindMemory(to: UInt8.self)) }
        guard let id else { return path }
        return (path.hasSuffix("/") ? path : path + "/") + RelativeReference.encoded(id)
    }
}

/// A reference to another path of the same server.
public enum RelativeReference {
    /// - Parameters:
    ///   - path: where it is read, with a slash at the beginning.
    ///   - target: what it is to name, likewise.
    static func from(_ path: String, to target: String) -> String {
        let directories = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let parts = target.split(separator: "/", omittingEmptySubsequences: false)
        let common = zip(directories, parts.dropLast()).prefix { $0 == $1 }.count
        let up = Array(repeating: "..", count: directories.count - common)
        let reference = (up + parts.dropFirst(common).map(String.init)).joined(separator: "/")
        // What has a colon before its first slash would be read as a scheme (RFC 3986 §4.2).
        // One without any text would name what is read itself.
        return reference.isEmpty || reference.prefix { $0 != "/" }.contains(":") ? "./" + reference : reference
    }

    /// A text as one component of a path.
    public static func encoded(_ component: String) -> String {
        component.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
}
