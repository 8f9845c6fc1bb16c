import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The body of an order for a message, or of its preview.
struct MessageRequest: Sendable {
    static let names: Set<String> = ["content", "template", "variables", "audience", "timing", "due", "expires"]
    static let maximumBodySize = 320 << 10

    let content: MessageContent
    let template: String?
    let audience: Audience?
    let timing: MessageTiming
    let due: Date?
    let expires: Date?
    /// Whether the preview counts all devices.
    let isExact: Bool

    /// - Throws: `invalid-body`, `invalid-filter`, `template-not-found`.
    init(_ fields: BodyFields, _ templates: TemplateStore, in space: Space) async throws {
        template = try fields.text("template", upTo: 64)
        content = try await Self.content(fields, template, templates, in: space)
        audience = try fields.object("audience").map { try Audience($0) }
        timing = try fields.object("timing").map { try MessageTiming($0) } ?? MessageTiming()
        due = try fields.time("due")
        expires = try fields.time("expires")
        isExact = try fields.flag("exact") ?? false
    }

    private static func content(
        _ fields: BodyFields, _ template: String?, _ templates: TemplateStore, in space: Space
    ) async throws -> MessageContent {
        let content = fields.object("content")
        switch (content, template) {
        case (nil, let template?):
            return try await templates.content(of: template, variables: fields["variables"], in: space)
        case (let content?, nil):
            guard let variables = fields.object("variables") else { return try MessageContent(content) }
            return try MessageTemplate(content).content(try MessageTemplate.values(variables))
        default: throw ServiceError(.invalidBody, "Send either content or the name of a template.", field: "content")
        }
    }

    /// - Parameter origin: Identifies the request when it is repeated.
    func order(by author: Author, origin: String?, digest: [UInt8]?) throws -> MessageOrder {
        guard let audience else { throw ServiceError(.invalidBody, "This field is required.", field: "audience") }
        return MessageOrder(
            content: content, audience: audience, timing: timing, due: due, expires: expires, origin: origin,
            originDigest: digest, template: template, author: author)
    }
}
