internal import ApsuleKit

/// The reference documentation: a page a family, and an index.
public enum ReferenceBook {
    /// Names and texts of all pages.
    ///
    /// The same descriptors give the same bytes.
    public static func pages(_ descriptors: [Descriptor]) -> [(name: String, text: String)] {
        let descriptors = descriptors.sorted { $0.family < $1.family }
        let errors = ErrorCatalogue(descriptors: descriptors)
        let families = descriptors.map { ("\($0.family).md", FamilyPage($0, errors: errors).document.markdown) }
        return [("README.md", index(descriptors).markdown), ("errors.md", hostErrors(errors).markdown)] + families
    }

    private static func index(_ descriptors: [Descriptor]) -> Document {
        var page = Document()
        page.add(.heading(1, "Host API"))
        page.add(
            .text(
                "Operations of host \(Discovery.hostVersion), each called as " + .code("host.<family>.<operation>")
                    + "."))
        page.add(
            .table(
                ["family", "what it is", "wrappers", "raw requests"],
                descriptors.map { descriptor in
                    let raw = descriptor.operations.filter { $0.raw != nil }
                    return [
                        .link(descriptor.family, to: "\(descriptor.family).md"), Document.Inline(descriptor.summary),
                        Document.Inline(String(descriptor.operations.count - raw.count)), .list(raw.map(\.name)),
                    ]
                }))
        page.add(.text("The host's own errors are in " + .link("errors.md", to: "errors.md") + "."))
        let catalogue = PermissionCatalogue(descriptors: descriptors)
        page.add(.heading(2, "Permissions"))
        page.add(
            .table(
                ["permission", "lets a project", "levels", "scopes"],
                catalogue.names.compactMap { catalogue[$0] }.map {
                    [.code($0.name), Document.Inline($0.title), .list($0.levels), .list($0.scopes)]
                }))
        return page
    }

    private static func hostErrors(_ errors: ErrorCatalogue) -> Document {
        var page = Document()
        page.add(.heading(1, "Errors of the host"))
        page.add(.text("What any operation may fail with. " + .code("apsule help CODE") + " explains one."))
        let own = errors.codes.compactMap { errors[$0] }.filter { $0.source == "host" }
        page.add(
            .table(
                ["code", "meaning", "what helps"],
                own.map { [.code($0.code), Document.Inline($0.text.meaning), Document.Inline($0.text.fix ?? "")] }))
        return page
    }
}
