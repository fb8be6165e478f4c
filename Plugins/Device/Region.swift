import ApsuleKit
import Glibc

/// Language, region and time zone that the machine's owner has set.
struct Region {
    let locale: JSON
    let timezone: JSON

    /// - Parameter environment: a variable's value; nil and "" are the same.
    init(_ files: SystemFiles, environment: (String) -> String?) {
        let set = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(environment).first
        let name =
            set ?? files.variables("etc/default/locale")["LANG"] ?? files.variables("etc/locale.conf")["LANG"] ?? "C"
        locale = Self.locale(name, languages: environment("LANGUAGE") ?? "")
        timezone = Self.timezone(files, environment("TZ"))
    }

    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private struct Tag {
        let language: String
        let script: String?
        let region: String?

        /// Nil for C, POSIX and what is no locale: `de_DE.UTF-8@euro`.
        init?(_ name: some StringProtocol) {
            let modifier = name.split(separator: "@").dropFirst().first
            let parts = name.prefix { $0 != "." && $0 != "@" }.split(separator: "_")
            guard let language = parts.first, (2...3).contains(language.count), language.allSatisfy(\.isLetter) else {
                return nil
            }
            self.language = language.lowercased()
            region = parts.count > 1 ? parts[1].uppercased() : nil
            script = modifier == "latin" ? "Latn" : modifier == "cyrillic" ? "Cyrl" : nil
        }

        var identifier: String { [language, script, region].compactMap { $0 }.joined(separator: "-") }
    }

    private static func locale(_ name: String, languages: String) -> JSON {
        guard let tag = Tag(name) else { return .null }
        var preferred = languages.split(separator: ":").compactMap { Tag($0)?.identifier }
        if !preferred.contains(tag.identifier) { preferred.append(tag.identifier) }
        return [
            "identifier": .string(tag.identifier),
            "language": .string(tag.language),
            "script": JSON(tag.script),
            "region": JSON(tag.region),
            "languages": .array(preferred.map(JSON.string)),
        ]
    }

    private static func timezone(_ files: SystemFiles, _ variable: String?) -> JSON {
        tzset()
        var now = time(nil)
        var local = tm()
        localtime_r(&now, &local)
        return [
            "identifier": JSON(identifier(files, variable)),
            "abbreviation": .string(local.tm_zone.map { String(cString: $0) } ?? "UTC"),
            "offsetSeconds": .int(Int64(local.tm_gmtoff)),
            "isDaylightSaving": .bool(local.tm_isdst > 0),
        ]
    }

    /// TZ where it is set, else what `/etc/localtime` links to; without that file the C library counts in UTC.
    private static func identifier(_ files: SystemFiles, _ variable: String?) -> String? {
        let marker = "zoneinfo/"
        func zone(_ path: String) -> String? {
            guard let start = path.firstRange(of: marker) else { return nil }
            return String(path[start.upperBound...])
        }
        if let variable {
            let name = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
            if let zone = zone(name) { return zone }
            return files.text("usr/share/zoneinfo/\(name)") == nil ? nil : name
        }
        if let link = files.link("etc/localtime") { return zone(link) }
        return files.text("etc/timezone") ?? (files.text("etc/localtime") == nil ? "UTC" : nil)
    }
}
