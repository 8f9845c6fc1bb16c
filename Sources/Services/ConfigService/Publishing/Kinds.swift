/// The document kinds of this service.
struct Kinds: Sendable {
    private let kinds: [DocumentKind: any PublishedKind]

    init(_ kinds: [DocumentKind: any PublishedKind]) {
        self.kinds = kinds
    }

    subscript(kind: DocumentKind) -> (any PublishedKind)? { kinds[kind] }
}
