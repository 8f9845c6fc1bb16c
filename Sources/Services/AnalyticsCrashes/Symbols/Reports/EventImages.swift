import MartletCore

/// The programs and libraries in a report: `debug_meta.images`.
struct EventImages {
    private static let maximumCount = 5_000
    /// Paths of system libraries, whose symbols nobody can upload.
    private static let systemPaths = [
        "/System/", "/usr/lib/", "/private/preboot/", "/private/var/containers/Bundle/System/", "/Library/Apple/",
        "/apex/", "/system/",
        "/system_ext/", "/vendor/", "/lib/", "/lib64/",
    ]

    struct Image {
        var debugID: DebugID
        var address: UInt64
        /// 0 if unknown.
        var size: UInt64
        var name: String
        var architecture: String?
        var isSystem: Bool
    }

    /// Sorted by address.
    private let images: [Image]

    init(_ event: JSONValue) {
        guard case .array(let values) = event["debug_meta"]?["images"] else {
            images = []
            return
        }
        images = values.prefix(Self.maximumCount).compactMap(Self.image).sorted { $0.address < $1.address }
    }

    /// The image that contains an address; nil if none with a debug id does.
    func image(of address: UInt64, imageAddress: UInt64?) -> Image? {
        if let imageAddress, imageAddress <= address, let image = last(upTo: imageAddress),
            image.address == imageAddress
        {
            return image
        }
        guard let image = last(upTo: address) else { return nil }
        return image.size == 0 || address - image.address < image.size ? image : nil
    }

    /// The last image that starts at or before the address.
    private func last(upTo address: UInt64) -> Image? {
        var (low, high) = (0, images.count)
        while low < high {
            let middle = (low + high) / 2
            if images[middle].address <= address { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? images[low - 1] : nil
    }

    /// The debug id of an image, derived from the build id for an ELF that has only that. All zeros mean none.
    private static func debugID(_ value: JSONValue) -> DebugID? {
        if let text = (value["debug_id"] ?? value["uuid"])?.plainText, let debugID = DebugID(text) {
            return debugID.description.contains { $0 != "0" && $0 != "-" } ? debugID : nil
        }
        guard value["type"]?.plainText == "elf", let text = value["code_id"]?.plainText,
            let plain = DebugID(String(text.prefix(32)))
        else { return nil }
        let digits = Array(plain.description.utf8.filter { $0 != UInt8(ascii: "-") })
        let bytes = stride(from: 0, to: 32, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
        }
        return ELF.debugID(bytes, isBigEndian: false)
    }

    private static func image(_ value: JSONValue) -> Image? {
        guard let debugID = debugID(value), let address = value["image_addr"]?.machineAddress else { return nil }
        let path = (value["code_file"] ?? value["name"])?.plainText ?? ""
        let isSystem =
            systemPaths.contains(where: path.hasPrefix) || path.contains("/CoreSimulator/")
            || path.contains(".simruntime/")
        return Image(
            debugID: debugID, address: address, size: value["image_size"]?.machineAddress ?? 0,
            name: String(path.split(separator: "/").last?.prefix(256) ?? ""),
            architecture: value["arch"]?.plainText.map { String($0.prefix(32)) },
            isSystem: isSystem)
    }
}

extension JSONValue {
    var plainText: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// An address in the forms that Sentry's clients write: `"0x1a"`, `"26"` or `26`.
    var machineAddress: UInt64? {
        switch self {
        case .string(let text):
            text.hasPrefix("0x") || text.hasPrefix("0X") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
        case .number(let literal): UInt64(literal)
        default: nil
        }
    }

    /// A copy of the object with the given members replaced or appended; nil removes one.
    func withMembers(_ changes: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        guard case .object(var members) = self else { return self }
        for (name, value) in changes {
            let index = members.firstIndex { $0.name == name }
            switch (index, value) {
            case (let index?, let value?): members[index] = Member(name, value)
            case (nil, let value?): members.append(Member(name, value))
            case (_?, nil): members.removeAll { $0.name == name }
            case (nil, nil): break
            }
        }
        return .object(members)
    }
}
