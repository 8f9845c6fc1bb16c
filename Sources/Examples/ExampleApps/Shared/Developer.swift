public import Foundation
import MartletKit

/// What developers do once for an app: create it and its keys. A member of staff may, with the password in
/// `connection.json`.
public struct Developer: Sendable {
    let url: URL
    private let connection: JSON

    /// - Parameter file: `connection.json` of a running server.
    public init(connection file: URL) throws {
        guard let data = FileManager.default.contents(atPath: file.path), let json = try? JSON(parsing: data),
            let url = json["url"]?.stringValue.flatMap({ URL(string: $0) })
        else {
            throw StoryError("\(file.path) is not the connection.json of a server. Start one with deploy/up --detach.")
        }
        self.url = url
        connection = json
    }

    /// Creates an app with its own keys, and waits until the gateway accepts them.
    func makeApp(_ name: String, bundleID: String) async throws -> ExampleApp {
        let signIn: JSON = [
            "userName": connection["staffUser"] ?? .null, "password": connection["staffPassword"] ?? .null,
        ]
        let token = try await Call(url).json("POST", "admin/auth/login", signIn)["accessToken"]?.stringValue ?? ""
        let made = try await Call(url, headers: ["authorization": "Bearer " + token]).json(
            "POST", "admin/apps", ["name": .string(name), "bundleIds": [.string(bundleID)]])
        let app = try ExampleApp(made, url: url, bundleID: bundleID)
        try await Story.wait(for: "the gateway to know the keys of \(name)") {
            do {
                try await app.manage("GET", "rules/settings")
                return true
            } catch let error as MartletError where [401, 403, 404].contains(error.status) {
                return false
            }
        }
        return app
    }
}

/// Calls of the HTTP API that no app on a phone may make, so MartletKit does not have them.
struct Call: Sendable {
    private static let transport = URLSessionTransport()

    let url: URL
    let headers: HTTPHeaders

    init(_ url: URL, headers: HTTPHeaders = [:]) {
        self.url = url
        self.headers = headers
    }

    func json(_ method: String, _ path: String, _ body: JSON? = nil, _ more: HTTPHeaders = [:]) async throws -> JSON {
        try await json(method, path, bytes: body?.data, more)
    }

    /// - Parameter bytes: The body as it is sent: a file, or JSON whose members keep their order.
    func json(_ method: String, _ path: String, bytes: Data?, _ more: HTTPHeaders = [:]) async throws -> JSON {
        let answer = try await data(method, path, bytes, more)
        return answer.isEmpty ? .null : try JSON(parsing: answer)
    }

    /// The body of the response, unparsed.
    func data(
        _ method: String, _ path: String, _ body: Data? = nil, _ more: HTTPHeaders = [:]
    ) async throws -> Data {
        guard let address = URL(string: url.absoluteString + "/" + path) else {
            throw StoryError("\(path) is not a path.")
        }
        var request = HTTPRequest(method: method, url: address, headers: headers, body: body)
        for header in more.all { request.headers[header.name] = header.value }
        let response = try await Self.transport.send(request, progress: nil)
        guard (200..<300).contains(response.status) else {
            let answer = (try? JSON(parsing: response.body)) ?? .null
            throw MartletError(
                MartletError.Code(rawValue: answer["code"]?.stringValue ?? "http-\(response.status)"),
                "\(method) \(path): \(answer.text)", status: response.status)
        }
        return response.body
    }

    /// Opens a page as a browser does, and returns where it leads.
    static func follow(_ method: String, _ url: URL, form: String? = nil) async throws -> URL {
        let headers: HTTPHeaders = form == nil ? [:] : ["content-type": "application/x-www-form-urlencoded"]
        let response = try await transport.send(
            HTTPRequest(method: method, url: url, headers: headers, body: form.map { Data($0.utf8) }), progress: nil)
        guard let next = response.headers["location"].flatMap({ URL(string: $0, relativeTo: url)?.absoluteURL }) else {
            throw StoryError("\(url.host ?? "") answered \(response.status) and leads nowhere.")
        }
        return next
    }
}
