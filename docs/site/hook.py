"""Makes a site of docs/ as it is in the repository.

The navigation is the list of groups in docs/README.md ('- **Group**: ...'), in its
words; a page that is missing there fails a strict build, whatever is above the list. Files of the repository outside docs/
that a page links to come into the site below source/. A folder has no page: its
link becomes plain text.
"""

import posixpath
import re
from pathlib import Path

from properdocs.exceptions import ConfigurationError
from properdocs.structure.files import File, InclusionLevel

TOP = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s#]+)(#[^()\s]*)?\)")
# A list right below a line of text, as the generated reference has it: to GitHub
# that is a list, to Python-Markdown it is more text.
LIST_BELOW_TEXT = re.compile(r"^(?![-*+#|>`\s]|\d+\. )(.*\S.*)\n(?=[-*] )", re.MULTILINE)
CODE = re.compile(r"(^```.*?^```[ ]*$)", re.MULTILINE | re.DOTALL)
GROUP = re.compile(r"^- \*\*(.+?)\*\*:(.*?)(?=^- \*\*|\Z)", re.MULTILINE | re.DOTALL)


def path_of(uri):
    """The path in the repository of a page of the site."""
    return uri.removeprefix("source/") if uri.startswith("source/") else "docs/" + uri


def uri_of(path):
    """The place in the site of a file of the repository."""
    return path.removeprefix("docs/") if path.startswith("docs/") else "source/" + path


def target(page, link):
    """The path in the repository that a page's relative link leads to, if any."""
    if re.match(r"[a-z]+:|/", link):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return None if path.startswith("../") or not (TOP / path).exists() else path


def links(page):
    """The text and the path of each link in a page that leads to the repository."""
    for text, link, _ in LINK.findall((TOP / page).read_text()):
        if path := target(page, link):
            yield text, path


def on_config(config):
    index = "docs/README.md"
    nav = [{"Start": "README.md"}]
    for name, body in GROUP.findall((TOP / index).read_text()):
        entries = []
        for text, link, _ in LINK.findall(body):
            path = target(index, link)
            if not path:
                raise ConfigurationError(f"{index}: the link to {link} leads nowhere")
            text = " ".join(text.split())
            entries.append({text[:1].upper() + text[1:]: uri_of(path)})
            if path == "docs/adr/README.md":
                entries += [uri_of(record) for _, record in links(path)]
        nav.append({name: entries})
    if len(nav) < 3:
        raise ConfigurationError(f"{index} has no list of pages as '- **Group**: [text](page)'")
    config.nav = nav
    return config


def on_files(files, config):
    """Brings what pages link to outside docs/, and what that links to in turn."""
    waiting = [path_of(file.src_uri) for file in files.documentation_pages()]
    while waiting:
        for _, path in links(waiting.pop()):
            if path.startswith("docs/") or files.get_file_from_path(uri_of(path)) or not (TOP / path).is_file():
                continue
            # A page from elsewhere may be in the navigation; it is found by its link, too.
            files.append(File.generated(config, uri_of(path), abs_src_path=str(TOP / path), inclusion=InclusionLevel.NOT_IN_NAV))
            if path.endswith(".md"):
                waiting.append(path)
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri

    def rewrite(match):
        text, link, fragment = match.groups()
        path = target(path_of(here), link)
        if not path:
            return match[0]  # an address elsewhere, or a mistake that the strict build names
        if (TOP / path).is_dir():
            return text
        return f"[{text}]({posixpath.relpath(uri_of(path), posixpath.dirname(here) or '.')}{fragment or ''})"

    parts = CODE.split(markdown)
    # Code, which is every second part, stays as it is.
    parts[::2] = [LIST_BELOW_TEXT.sub(r"\1\n\n", LINK.sub(rewrite, part)) for part in parts[::2]]
    return "".join(parts)


def on_post_build(config):
    """Gives the studies' reports a way back to the site: they are pages without the theme."""
    for report in (Path(config.site_dir) / "studies/reports").glob("*.html"):
        text = report.read_text()
        if text.count("<body>\n") != 1:
            raise ConfigurationError(f"{report.name} has no place for the way back: it needs one line <body>")
        report.write_text(text.replace("<body>\n", '<body>\n<p><a href="../../index.html">Documentation</a> / <a href="../index.html">Studies</a></p>\n'))
