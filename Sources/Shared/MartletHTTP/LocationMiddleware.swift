import Foundation
import HTTPTypes
import Hummingbird
import MartletCore
import NIOCore

/// Adds `Location` to every 201 answer (RFC 9110 §15.3.2).
///
/// Only the gateway knows the full URL of a request, so the header is a relative reference (RFC 3986 §4.2). An endpoint
/// may set `Location` to a path of the service, such as `/auth/me`, or to such a reference. If it sets none, the new
/// resource is at the request's path after `PUT` and `PATCH`, and below it after `POST`, under the id in the answer.
struct LocationMiddleware: RouterMiddleware {
    typealias Context = ServiceContext

    /// Members that may hold the id; the first one in the answer counts.
    private static let names = ["_id", "id", "number", "name"]

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        var response = try await next(request, context)
        guard response.status == .created else { return response }
        let path = request.uri.path
        let target =
            if let named = response.headers[.location] { named } else {
                try await Self.target(of: response, request.method, path)
            }
        response.headers[.location] = target.hasPrefix("/") ? RelativeReference.from(path, to: target) : target
        return response
    }

    private static func target(of response: Response, _ method: HTTPRequest.Method, _ path: String) async throws
        -> String
    {
        guard method == .post else { return path }
        let id = try await response.wholeBody().withUnsafeReadableBytes {
            JSONMember.scalar(names, of: $0.bindMemory(to: UInt8.self))
        }
        guard let id else { return path }
        return (path.hasSuffix("/") ? path : path + "/") + RelativeReference.encoded(id)
    }
}

/// References between paths of the same server.
public enum RelativeReference {
    /// - Parameters:
    ///   - path: The path of the referring resource, starting with a slash.
    ///   - target: The path to refer to, likewise.
    static func from(_ path: String, to target: String) -> String {
        let reference = below(path, target) ?? climbing(path, target)
        // A colon before the first slash would make the text before it a scheme (RFC 3986 §4.2). An empty reference
        // would name the referring resource itself.
        let needsDot =
            reference.isEmpty || reference.utf8.prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: ":"))
        return needsDot ? "./" + reference : reference
    }

    /// The reference without `..`; nil if the target is not in the directory of `path`.
    private static func below(_ path: String, _ target: String) -> String? {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let directory = path.utf8[...slash]
        return target.utf8.starts(with: directory) ? String(target.utf8.dropFirst(directory.count)) : nil
    }

    private static func climbing(_ path: String, _ target: String) -> String {
        let directories = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let parts = target.split(separator: "/", omittingEmptySubsequences: false)
        let common = zip(directories, parts.dropLast()).prefix { $0 == $1 }.count
        let up = Array(repeating: "..", count: directories.count - common)
        return (up + parts.dropFirst(common).map(String.init)).joined(separator: "/")
    }

    /// Percent-encodes a text as one path component.
    public static func encoded(_ component: String) -> String {
        // Most ids are UUIDs, and Foundation's encoding costs several microseconds.
        let isPlain = component.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        return isPlain ? component : component.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    private static let unreserved = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
}
