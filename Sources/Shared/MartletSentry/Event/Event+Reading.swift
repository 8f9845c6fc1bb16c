public import Foundation
public import MartletCore

extension Event {
    private static let maximumMessageLength = 8_000
    /// Limits for parsing; `EventScrubber` has lower ones for what is stored. Real apps may have as many threads.
    private static let (maximumExceptions, maximumThreads, maximumImages, maximumFramesPerEnd) = (50, 1_000, 2_000, 500)

    /// The report in Sentry's format, translated from a KSCrash report on Apple's systems or from former names of
    /// members.
    public static func sentryForm(of value: JSONValue) -> JSONValue {
        KSCrashReport(value)?.event ?? withCurrentNames(value)
    }

    /// Former names of members, still used by clients such as raven (getsentry/relay, `relay-event-schema`,
    /// `legacy_alias`).
    private static let formerNames = [
        "sentry.interfaces.Message": "logentry", "sentry.interfaces.Exception": "exception",
        "sentry.interfaces.Stacktrace": "stacktrace",
        "sentry.interfaces.Http": "request", "sentry.interfaces.User": "user", "sentry.interfaces.Contexts": "contexts",
        "sentry.interfaces.Breadcrumbs": "breadcrumbs", "sentry.interfaces.DebugMeta": "debug_meta",
        "sentry.interfaces.Template": "template",
        "sentry.interfaces.Threads": "threads",
    ]

    /// If a member is present under both names, the current one takes precedence.
    private static func withCurrentNames(_ value: JSONValue) -> JSONValue {
        guard case .object(let members) = value, members.contains(where: { formerNames[$0.name] != nil }) else {
            return value
        }
        var names = Set(members.lazy.filter { $0.value != .null }.map(\.name))
        return .object(
            members.compactMap { member in
                guard member.value != .null else { return nil }
                guard let name = formerNames[member.name] else { return member }
                return names.insert(name).inserted ? .init(name, member.value) : nil
            })
    }

    /// - Parameters:
    ///   - value: The report in Sentry's format. The result is nil if it is not an object.
    ///   - id: The id in the envelope; nil uses the event's own.
    public init?(_ value: JSONValue, id: UUID?) {
        guard value.isObject else { return nil }
        var fields = EventFields(value)
        self.id = id ?? fields.text("event_id").flatMap(UUID.init(eventID:)) ?? UUID()
        readHead(&fields)
        readMessage(&fields)
        exceptions = fields.list("exception", of: EventFields.exception).suffix(Self.maximumExceptions).map { value in
            Exception(
                type: value["type"]?.looseText ?? "", value: value["value"]?.looseText ?? "",
                module: value["module"]?.looseText ?? "",
                isSynthetic: value["mechanism"]?["synthetic"]?.looseFlag ?? false,
                isHandled: value["mechanism"]?["handled"]?.looseFlag,
                thread: value["thread_id"]?.looseText, frames: Self.frames(value))
        }
        threads = fields.list("threads", of: EventFields.thread).prefix(Self.maximumThreads).map { value in
            Thread(
                id: value["id"]?.looseText ?? "", hasCrashed: value["crashed"]?.looseFlag ?? false,
                isCurrent: value["current"]?.looseFlag ?? false,
                frames: Self.frames(value))
        }
        frames = fields.object("stacktrace").map { Self.read($0["frames"]?.looseList ?? []) } ?? []
        images = (fields.object("debug_meta")?["images"]?.looseList ?? []).prefix(Self.maximumImages).compactMap {
            image in
            guard let address = Frame.address(image["image_addr"]), let size = Frame.address(image["image_size"]) else {
                return nil
            }
            return Image(
                name: image["code_file"]?.looseText ?? image["name"]?.looseText ?? "", address: address, size: size)
        }
        readContexts(&fields)
        let scrubber = EventScrubber(value, wrong: fields.wrong)
        content = scrubber.content(id: self.id, tags: tags)
        problems = Array(fields.problems.prefix(20))
    }

    private mutating func readHead(_ fields: inout EventFields) {
        timestamp = Date(loose: fields.value("timestamp"))
        if timestamp == nil, fields.value("timestamp") != nil { fields.complain("timestamp", "is not a time") }
        platform = (fields.text("platform") ?? "other").cut(toBytes: 64)
        level = fields.text("level").flatMap(Level.init(name:))
        if level == nil, fields.text("level") != nil {
            fields.complain("level", "is not one of debug, info, warning, error and fatal")
        }
        release = fields.text("release").flatMap { $0.isEmpty ? nil : $0.cut(toBytes: 250) }
        stage = (fields.text("environment") ?? "").cut(toBytes: 64)
        transaction = (fields.text("transaction") ?? fields.text("culprit") ?? "").cut(to: 200)
        logger = (fields.text("logger") ?? "").cut(to: 200)
        fingerprint = fields.texts("fingerprint")
    }

    /// Reads `logentry` or its older name `message`; each may be an object or text.
    private mutating func readMessage(_ fields: inout EventFields) {
        let entry = fields.value("logentry") ?? fields.value("message")
        if let text = entry?.looseText {
            message = text
        } else if let entry, entry.isObject {
            template = entry["message"]?.looseText ?? ""
            message = entry["formatted"]?.looseText ?? Self.filledIn(template, entry["params"])
            if message.isEmpty { message = fields.text("message") ?? "" }
        } else if entry != nil {
            fields.complain("logentry", "is neither text nor an object")
        }
        message = message.cut(to: Self.maximumMessageLength)
        template = template.cut(to: Self.maximumMessageLength)
    }

    /// Replaces `%s`, `%d` and `{}` with the parameters in order, as far as there are any. Text beyond the maximum
    /// length of a message is ignored.
    private static func filledIn(_ template: String, _ parameters: JSONValue?) -> String {
        guard case .array(let values) = parameters, !values.isEmpty else { return template }
        let template = template.cut(to: maximumMessageLength)
        var (text, rest) = ("", template[...])
        for value in values {
            guard let place = firstPlaceholder(in: rest), text.utf8.count <= 4 * maximumMessageLength else { break }
            text += rest[..<place.lowerBound] + (value.looseText ?? value.text).cut(to: maximumMessageLength)
            rest = rest[place.upperBound...]
        }
        return text + rest
    }

    /// The range of the first placeholder, such as `%-08.3f` or `{}`.
    private static func firstPlaceholder(in template: Substring) -> Range<Substring.Index>? {
        let bytes = template.utf8
        var start = bytes.startIndex
        while start < bytes.endIndex {
            let next = bytes.index(after: start)
            switch bytes[start] {
            case UInt8(ascii: "{"):
                if next < bytes.endIndex, bytes[next] == UInt8(ascii: "}") { return start..<bytes.index(after: next) }
            case UInt8(ascii: "%"):
                let end = bytes[next...].firstIndex { !NameBytes.isDigit($0) && !"-#.".utf8.contains($0) }
                if let end, NameBytes.isLetter(bytes[end]) || bytes[end] == UInt8(ascii: "@") {
                    return start..<bytes.index(after: end)
                }
                // No placeholder can begin in between.
                start = end ?? bytes.endIndex
                continue
            default: break
            }
            start = next
        }
        return nil
    }

    private mutating func readContexts(_ fields: inout EventFields) {
        let contexts = fields.object("contexts")
        os = Self.name(contexts?["os"]?["name"], contexts?["os"]?["version"])
        let device = contexts?["device"]
        self.device = (device?["model"]?.looseText ?? device?["family"]?.looseText ?? device?["name"]?.looseText ?? "")
            .cut(toBytes: 200)
        if let user = fields.object("user") {
            person = ["id", "email", "username"].lazy.compactMap { user[$0]?.looseText }.first { !$0.isEmpty }?.cut(
                to: 250)
        }
        tags = Self.tags(fields.value("tags") ?? .null)
        switch fields.value("tags") {
        case nil, .array, .object: break
        default: fields.complain("tags", "is neither an object nor a list of pairs")
        }
        let martlet = contexts?["martlet"]
        configuration = (martlet?["configuration"]?.looseText ?? tag("martlet.config")).cut(toBytes: 200)
        variants = (Self.variants(martlet?["variants"]) ?? tag("martlet.variants")).cut(toBytes: 800)
    }

    private func tag(_ key: String) -> String { tags.first { $0.key == key }?.value ?? "" }

    /// Writes `{"checkout":"dark"}` as `checkout=dark`, sorted by name.
    private static func variants(_ value: JSONValue?) -> String? {
        if let text = value?.looseText { return text }
        guard case .object(let members) = value else { return nil }
        return members.compactMap { member in member.value.looseText.map { "\(member.name)=\($0)" } }.sorted().joined(
            separator: ", ")
    }

    private static func name(_ name: JSONValue?, _ version: JSONValue?) -> String {
        [name, version].compactMap { $0?.looseText }.filter { !$0.isEmpty }.joined(separator: " ").cut(toBytes: 200)
    }

    private static func tags(_ value: JSONValue) -> [Tag] {
        var seen: Set<String> = []
        return value.looseMembers.prefix(200).compactMap { member in
            guard let text = member.value.looseText, !text.isEmpty else { return nil }
            let key = member.name.cut(toBytes: 200)
            return !key.isEmpty && seen.insert(key).inserted ? Tag(key: key, value: text.cut(toBytes: 800)) : nil
        }
    }

    /// The frames of an exception or a thread.
    private static func frames(_ value: JSONValue) -> [Frame] { read(value["stacktrace"]?["frames"]?.looseList ?? []) }

    /// For a very deep stack, only its two ends: the middle is repetition.
    private static func read(_ frames: [JSONValue]) -> [Frame] {
        let isDeep = frames.count > 2 * maximumFramesPerEnd
        return isDeep
            ? (frames.prefix(maximumFramesPerEnd) + frames.suffix(maximumFramesPerEnd)).map(Frame.init)
            : frames.map(Frame.init)
    }
}

extension Event {
    /// The stacks of the exceptions, or of their threads where they have none; otherwise the stack of the crashed
    /// thread.
    public var stacks: [(exception: Exception?, frames: [Frame])] {
        let owned = exceptions.map { exception in
            (
                exception: Optional(exception),
                frames: exception.frames.isEmpty
                    ? threads.first { $0.id == exception.thread }?.frames ?? [] : exception.frames
            )
        }
        if owned.contains(where: { !$0.frames.isEmpty }) { return owned }
        let other =
            frames.isEmpty
            ? (threads.first(where: \.hasCrashed) ?? threads.first(where: \.isCurrent))?.frames ?? [] : frames
        guard let last = owned.last else { return other.isEmpty ? [] : [(nil, other)] }
        return owned.dropLast() + [(last.exception, other)]
    }
}
